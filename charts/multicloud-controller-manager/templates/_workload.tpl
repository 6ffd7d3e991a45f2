{{/*
Whether the chart makes the workload and what belongs to it: true or empty.
*/}}
{{- define "multicloud-controller-manager.workload" -}}
{{- if not .Values.rbac.only -}}true{{- end -}}
{{- end -}}

{{/*
How Pods are replaced. rollingUpdate is only allowed with the type RollingUpdate.
*/}}
{{- define "multicloud-controller-manager.updateStrategy" -}}
{{- $strategy := .Values.updateStrategy | default dict -}}
{{- if ne (default "RollingUpdate" $strategy.type) "RollingUpdate" -}}
{{- $strategy = omit $strategy "rollingUpdate" -}}
{{- end -}}
{{- toYaml $strategy -}}
{{- end -}}
