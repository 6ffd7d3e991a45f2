{{/*
Pod template of the workload, the same for a DaemonSet and a Deployment.
*/}}
{{- define "multicloud-controller-manager.podTemplate" -}}
metadata:
  labels:
    {{- $own := include "multicloud-controller-manager.podLabels" . | fromJson }}
    {{- toYaml (mergeOverwrite (deepCopy (.Values.podLabels | default dict)) $own) | nindent 4 }}
  {{- $annotations := include "multicloud-controller-manager.podAnnotations" . | fromJson }}
  {{- with .Values.cloudConfig.restartToken }}
  {{- $_ := set $annotations "multicloud-ccm.io/restart-token" . }}
  {{- end }}
  {{- with $annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- include "multicloud-controller-manager.podSpec" . | nindent 2 }}
  {{- with include "multicloud-controller-manager.topologySpread" . }}
  {{- . | nindent 2 }}
  {{- end }}
  containers:
    - {{ include "multicloud-controller-manager.container" . | indent 6 | trim }}
    {{- with .Values.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/*
What the Pods of the workload and those that verify a cloud-config have in common: all but the containers.
*/}}
{{- define "multicloud-controller-manager.podSpec" -}}
serviceAccountName: {{ include "multicloud-controller-manager.serviceAccountName" . | quote }}
automountServiceAccountToken: {{ and .Values.automountServiceAccountToken (empty .Values.kubeconfig.existingSecret) }}
{{- if include "multicloud-controller-manager.hostNetwork" . }}
hostNetwork: true
{{- end }}
dnsPolicy: {{ include "multicloud-controller-manager.dnsPolicy" . }}
{{- with .Values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
enableServiceLinks: {{ .Values.enableServiceLinks }}
terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds | int64 }}
{{- with include "multicloud-controller-manager.imagePullSecrets" . }}
{{ . }}
{{- end }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include "multicloud-controller-manager.placement" . | trim }}
{{ . }}
{{- end }}
volumes:
  {{- toYaml (include "multicloud-controller-manager.files" . | fromJson).volumes | nindent 2 }}
{{- with .Values.initContainers }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/*
Annotations of Pods that the user gives.
*/}}
{{- define "multicloud-controller-manager.podAnnotations" -}}
{{- toJson (mergeOverwrite (deepCopy (.Values.commonAnnotations | default dict)) (.Values.podAnnotations | default dict)) -}}
{{- end -}}

{{- define "multicloud-controller-manager.container" -}}
name: cloud-controller-manager
{{ include "multicloud-controller-manager.containerSpec" . }}
args:
  {{- include "multicloud-controller-manager.arguments" . | nindent 2 }}
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
{{- end -}}

{{/*
What the containers of these Pods have in common: all but the arguments, and what only a server needs.
*/}}
{{- define "multicloud-controller-manager.containerSpec" -}}
image: {{ include "multicloud-controller-manager.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
command:
  - /multicloud-controller-manager
{{- with (include "multicloud-controller-manager.environment" . | fromJson).items }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.envFrom }}
envFrom:
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
