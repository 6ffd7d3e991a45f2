package e2e

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
)

// runHooks runs the Jobs of hooks until a command of Helm has ended, as the Job controller and a
// kubelet do: Helm waits for them.
func (r *release) runHooks(t *testing.T, ended <-chan struct{}) {
	t.Helper()
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ended:
			return
		case <-ticker.C:
		}
		jobs, err := r.Client().BatchV1().Jobs(r.helm.Namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range jobs.Items {
			if len(jobs.Items[i].Status.Conditions) == 0 {
				r.runJob(t, &jobs.Items[i])
			}
		}
	}
}

// runJob runs the Pod of a Job to its end.
func (r *release) runJob(t *testing.T, job *batchv1.Job) {
	t.Helper()
	binary, err := ccm.Locate(binaryPath)
	if err != nil {
		t.Fatal(err)
	}
	p := r.newHost(t, "hook", map[string]string{ccm.Name: binary}).start(t, job.Namespace, job.Spec.Template)
	select {
	case <-p.process.Ended():
	case <-within(t).Done():
		t.Fatalf("%s has not ended, its log ends with:\n%s", p.Name, p.process.Tail())
	}
	now := metav1.Now()
	job.Status = batchv1.JobStatus{StartTime: &now}
	conditions := []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobFailed}
	if p.process.ExitCode() == 0 {
		conditions = []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete}
		job.Status.Succeeded, job.Status.CompletionTime = 1, &now
	} else {
		job.Status.Failed = 1
	}
	for _, condition := range conditions {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: condition, Status: v1.ConditionTrue, LastTransitionTime: now, LastProbeTime: now,
		})
	}
	if _, err := r.Client().BatchV1().Jobs(job.Namespace).UpdateStatus(t.Context(), job, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.Client().CoreV1().Pods(p.Namespace).Delete(t.Context(), p.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		t.Error(err)
	}
}
