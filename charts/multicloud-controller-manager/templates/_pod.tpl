{{/*
Pod template of the workload, the same for a DaemonSet and a Deployment.
*/}}
{{- define "multicloud-controller-manager.podTemplate" -}}
metadata:
  labels:
    {{- $own := include "multicloud-controller-manager.podLabels" . | fromJson }}
    {{- toYaml (mergeOverwrite (deepCopy (.Values.podLabels | default dict)) $own) | nindent 4 }}
  {{- with include "multicloud-controller-manager.podAnnotations" . | fromJson }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "multicloud-controller-manager.serviceAccountName" . | quote }}
  automountServiceAccountToken: {{ and .Values.automountServiceAccountToken (empty .Values.kubeconfig.existingSecret) }}
  {{- if include "multicloud-controller-manager.hostNetwork" . }}
  hostNetwork: true
  {{- end }}
  dnsPolicy: {{ include "multicloud-controller-manager.dnsPolicy" . }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  enableServiceLinks: {{ .Values.enableServiceLinks }}
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds | int64 }}
  {{- include "multicloud-controller-manager.podCommon" . | nindent 2 }}
  {{- with include "multicloud-controller-manager.topologySpread" . }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with .Values.initContainers }}
  initContainers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - {{ include "multicloud-controller-manager.container" . | indent 6 | trim }}
    {{- with .Values.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/*
What the Pods of the workload and of helm test have in common.
*/}}
{{- define "multicloud-controller-manager.podCommon" -}}
{{- $parts := list -}}
{{- with include "multicloud-controller-manager.imagePullSecrets" . -}}{{- $parts = append $parts . -}}{{- end -}}
{{- with .Values.podSecurityContext -}}{{- $parts = append $parts (toYaml (dict "securityContext" .)) -}}{{- end -}}
{{- with .Values.dnsConfig -}}{{- $parts = append $parts (toYaml (dict "dnsConfig" .)) -}}{{- end -}}
{{- with .Values.hostAliases -}}{{- $parts = append $parts (toYaml (dict "hostAliases" .)) -}}{{- end -}}
{{- with include "multicloud-controller-manager.placement" . | trim -}}{{- $parts = append $parts . -}}{{- end -}}
{{- $parts = append $parts (toYaml (dict "volumes" (include "multicloud-controller-manager.files" . | fromJson).volumes)) -}}
{{- join "\n" $parts -}}
{{- end -}}

{{/*
Generated text is part of the Pod template: new Pods try it before the old ones are replaced.
*/}}
{{- define "multicloud-controller-manager.podAnnotations" -}}
{{- $own := dict -}}
{{- if include "multicloud-controller-manager.cloudConfig.made" . -}}
{{- $_ := set $own "checksum/cloud-config" (include "multicloud-controller-manager.cloudConfig.text" . | sha256sum) -}}
{{- end -}}
{{- with .Values.cloudConfig.restartToken -}}
{{- $_ := set $own "multicloud-ccm.io/restart-token" . -}}
{{- end -}}
{{- toJson (mergeOverwrite (deepCopy (.Values.commonAnnotations | default dict)) (.Values.podAnnotations | default dict) $own) -}}
{{- end -}}

{{- define "multicloud-controller-manager.container" -}}
name: cloud-controller-manager
image: {{ include "multicloud-controller-manager.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
command:
  - /multicloud-controller-manager
args:
  {{- include "multicloud-controller-manager.arguments" . | nindent 2 }}
{{- with (include "multicloud-controller-manager.environment" . | fromJson).items }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
ports:
  - name: https
    containerPort: {{ .Values.securePort | int64 }}
    protocol: TCP
{{- if .Values.startupProbe.enabled }}
startupProbe:
  {{- include "multicloud-controller-manager.probe" (dict "root" . "timing" .Values.startupProbe) | nindent 2 }}
{{- end }}
{{- if .Values.livenessProbe.enabled }}
livenessProbe:
  {{- include "multicloud-controller-manager.probe" (dict "root" . "timing" .Values.livenessProbe) | nindent 2 }}
{{- end }}
{{- with .Values.lifecycle }}
lifecycle:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
terminationMessagePolicy: FallbackToLogsOnError
volumeMounts:
  {{- toYaml (include "multicloud-controller-manager.files" . | fromJson).mounts | nindent 2 }}
{{- end -}}

{{/*
A probe of /healthz. It names a host only if the port is open on loopback only, which Pod Security "baseline" refuses, as it does
hostNetwork.
*/}}
{{- define "multicloud-controller-manager.probe" -}}
httpGet:
  {{- if include "multicloud-controller-manager.loopbackOnly" .root }}
  host: 127.0.0.1
  {{- end }}
  path: /healthz
  port: https
  scheme: HTTPS
periodSeconds: {{ .timing.periodSeconds | int64 }}
timeoutSeconds: {{ .timing.timeoutSeconds | int64 }}
failureThreshold: {{ .timing.failureThreshold | int64 }}
{{- end -}}
