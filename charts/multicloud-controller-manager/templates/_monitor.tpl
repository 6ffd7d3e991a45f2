{{/*
A ServiceMonitor or a PodMonitor. Arguments: root, kind, endpoints (the name of their list) and values.
*/}}
{{- define "multicloud-controller-manager.monitor" -}}
{{- $namespace := include "multicloud-controller-manager.namespace" .root -}}
apiVersion: monitoring.coreos.com/v1
kind: {{ .kind }}
metadata:
  {{- include "multicloud-controller-manager.metadata" (dict "root" .root "name" (include "multicloud-controller-manager.fullname" .root) "namespace" (default $namespace .values.namespace) "labels" .values.labels) | nindent 2 }}
spec:
  namespaceSelector:
    matchNames:
      - {{ $namespace | quote }}
  selector:
    matchLabels:
      {{- include "multicloud-controller-manager.selectorLabels" .root | nindent 6 }}
  {{ .endpoints }}:
    - port: https
      path: /metrics
      scheme: https
      {{- with .values.interval }}
      interval: {{ . }}
      {{- end }}
      {{- with .values.scrapeTimeout }}
      scrapeTimeout: {{ . }}
      {{- end }}
      tlsConfig:
        {{- toYaml (.values.tlsConfig | default (dict "insecureSkipVerify" true)) | nindent 8 }}
      {{- with .values.bearerTokenFile }}
      bearerTokenFile: {{ . | quote }}
      {{- end }}
      {{- with .values.authorization }}
      {{- if .existingSecret }}
      authorization:
        credentials:
          name: {{ .existingSecret | quote }}
          key: {{ .key | quote }}
      {{- end }}
      {{- end }}
      {{- with .values.relabelings }}
      relabelings:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.metricRelabelings }}
      metricRelabelings:
        {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end -}}
