{{/*
Whether the chart makes the workload and what belongs to it: true or empty.
*/}}
{{- define "multicloud-controller-manager.workload" -}}
{{- if not .Values.rbac.only -}}true{{- end -}}
{{- end -}}

{{/*
How Pods are replaced. rollingUpdate is only allowed with the type RollingUpdate. Without leader election, the new Pod must not start
before the old one has ended, which RollingUpdate does not wait for.
*/}}
{{- define "multicloud-controller-manager.updateStrategy" -}}
{{- $strategy := .Values.updateStrategy | default dict -}}
{{- if not .Values.leaderElection.enabled -}}
{{- $strategy = dict "type" "Recreate" -}}
{{- end -}}
{{- if ne (default "RollingUpdate" $strategy.type) "RollingUpdate" -}}
{{- $strategy = omit $strategy "rollingUpdate" -}}
{{- end -}}
{{- toYaml $strategy -}}
{{- end -}}
