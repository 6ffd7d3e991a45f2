{{/*
Annotations of a hook before an upgrade. Arguments: weight and, for objects that only the hook needs, temporary. Argo CD has no
upgrades: for it, the objects are hooks of the synchronization itself, in which the workload comes last, so that the first one has the
ServiceAccount and its permissions.
*/}}
{{- define "multicloud-controller-manager.verify.annotations" -}}
helm.sh/hook: pre-upgrade
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded{{ if .temporary }},hook-failed{{ end }}
argocd.argoproj.io/hook: Sync
{{- end -}}

{{/*
Annotations of the workload: for Argo CD it comes after the hook.
*/}}
{{- define "multicloud-controller-manager.workloadAnnotations" -}}
{{- if .Values.verifyBeforeUpgrade -}}
argocd.argoproj.io/sync-wave: {{ get .Values.commonAnnotations "argocd.argoproj.io/sync-wave" | int | add1 | quote }}
{{- end -}}
{{- end -}}

{{/*
Labels of a Pod that verifies the cloud-config. The name differs from that of the workload, which would take the Pod for one of its own.
Arguments: root and suffix.
*/}}
{{- define "multicloud-controller-manager.verify.labels" -}}
{{- $name := include "multicloud-controller-manager.verify.name" (dict "name" (include "multicloud-controller-manager.name" .root) "suffix" .suffix) -}}
{{- $own := set (include "multicloud-controller-manager.podLabels" .root | fromJson) "app.kubernetes.io/name" $name -}}
{{- toYaml (mergeOverwrite (deepCopy (.root.Values.podLabels | default dict)) $own) -}}
{{- end -}}

{{- define "multicloud-controller-manager.verify.name" -}}
{{- printf "%s-%s" (.name | trunc 56 | trimSuffix "-") .suffix -}}
{{- end -}}

{{/*
Pod that verifies the cloud-config in the cloud, with everything that the Pods of the workload have. Containers beside the controller
are left out: with them, it would not end.
*/}}
{{- define "multicloud-controller-manager.verify.podSpec" -}}
restartPolicy: Never
{{ include "multicloud-controller-manager.podSpec" . }}
containers:
  - name: verify
    {{- include "multicloud-controller-manager.containerSpec" . | nindent 4 }}
    args:
      - config
      - validate
      - --connect
      {{- if hasKey . "verify" }}
      - --allow-unproven
      {{- end }}
      - {{ printf "--cloud-config=%s/cloud.conf" (trimSuffix "/" .Values.cloudConfig.mountPath) | quote }}
      {{- if .Values.kubeconfig.existingSecret }}
      - --kubeconfig=/etc/cloud-kubeconfig/kubeconfig
      {{- end }}
{{- end -}}

{{/*
Permissions of such a Pod to read Secrets: it has the account of the workload, whose permissions are those of the former revision before
an upgrade, and which reads no Secrets with an account for each controller. Arguments: root, suffix and annotations.
*/}}
{{- define "multicloud-controller-manager.verify.permissions" -}}
{{- if include "multicloud-controller-manager.rbac" .root -}}
{{- range (include "multicloud-controller-manager.secretsRead" .root | fromJson).items }}
---
{{ include "multicloud-controller-manager.boundRole" (dict
  "root" $.root
  "suffix" (printf "%s:secret:%s" $.suffix .name)
  "namespace" .namespace
  "annotations" $.annotations
  "rules" (include "multicloud-controller-manager.rule" (dict "group" "" "resources" (list "secrets") "names" (list .name) "verbs" (list "list" "watch")))) }}
{{- end }}
{{- end -}}
{{- end -}}
