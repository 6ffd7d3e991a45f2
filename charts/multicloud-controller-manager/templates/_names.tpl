{{/*
Helpers that return a mapping return it as JSON, which keeps every text; a mapping has a list in "items".

Name of the chart, the label app.kubernetes.io/name.
*/}}
{{- define "multicloud-controller-manager.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/*
Name of the objects in the namespace of the release: that of the release if it has the name of the chart in it.
*/}}
{{- define "multicloud-controller-manager.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
Name of RBAC objects, which can be in any namespace or in none. It has the namespace in it, so that releases of the same name in
several namespaces do not share objects; a colon is in no other name.
*/}}
{{- define "multicloud-controller-manager.rbacName" -}}
{{- printf "%s:%s" (include "multicloud-controller-manager.fullname" .) (include "multicloud-controller-manager.namespace" .) -}}
{{- end -}}

{{- define "multicloud-controller-manager.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{- define "multicloud-controller-manager.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "multicloud-controller-manager.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/*
Name of the Service with the metrics. Unlike other names, that of a Service begins with a letter and has no dots.
*/}}
{{- define "multicloud-controller-manager.metricsName" -}}
{{- $name := printf "%s-metrics" (include "multicloud-controller-manager.fullname" . | trunc 51 | replace "." "-") -}}
{{- ternary $name (printf "ccm-%s" $name) (regexMatch "^[a-z]" $name) -}}
{{- end -}}

{{/*
Labels by which a workload selects its Pods. They must never change.
*/}}
{{- define "multicloud-controller-manager.selectorLabels" -}}
app.kubernetes.io/name: {{ include "multicloud-controller-manager.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{/*
Labels of objects.
*/}}
{{- define "multicloud-controller-manager.labels" -}}
{{- $own := dict
  "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-")
  "app.kubernetes.io/version" (.Chart.AppVersion | replace "+" "_" | trunc 63 | trimSuffix "-")
  "app.kubernetes.io/managed-by" .Release.Service -}}
{{- toJson (mergeOverwrite (include "multicloud-controller-manager.podLabels" . | fromJson) $own) -}}
{{- end -}}

{{/*
Labels of Pods. They have no versions, so that a new version of the chart alone does not replace Pods.
*/}}
{{- define "multicloud-controller-manager.podLabels" -}}
{{- $own := dict
  "app.kubernetes.io/component" "cloud-controller-manager"
  "multicloud-ccm.io/provider" .Values.provider -}}
{{- toJson (mergeOverwrite (deepCopy (.Values.commonLabels | default dict)) $own (include "multicloud-controller-manager.selectorLabels" . | fromYaml)) -}}
{{- end -}}

{{/*
Metadata of an object. Arguments: root, name, namespace (empty for objects without one), and labels and annotations, which take
precedence over those of all objects.
*/}}
{{- define "multicloud-controller-manager.metadata" -}}
name: {{ .name | quote }}
{{- with .namespace }}
namespace: {{ . | quote }}
{{- end }}
labels:
  {{- toYaml (mergeOverwrite (include "multicloud-controller-manager.labels" .root | fromJson) (.labels | default dict)) | nindent 2 }}
{{- with mergeOverwrite (deepCopy (.root.Values.commonAnnotations | default dict)) (.annotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
