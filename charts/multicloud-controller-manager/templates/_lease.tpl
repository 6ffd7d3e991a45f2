{{/*
Lease of leader election. The defaults are those of every cloud controller manager.
*/}}
{{- define "multicloud-controller-manager.leaseName" -}}
{{- default "cloud-controller-manager" .Values.leaderElection.name -}}
{{- end -}}

{{- define "multicloud-controller-manager.leaseNamespace" -}}
{{- default "kube-system" .Values.leaderElection.namespace -}}
{{- end -}}
