{{/*
Where the cloud-config comes from: existingSecret, existingConfigMap, inline or config.
*/}}
{{- define "multicloud-controller-manager.cloudConfig.source" -}}
{{- if .Values.cloudConfig.existingSecret.name -}}existingSecret
{{- else if .Values.cloudConfig.existingConfigMap.name -}}existingConfigMap
{{- else if .Values.cloudConfig.inline -}}inline
{{- else -}}config
{{- end -}}
{{- end -}}

{{/*
Whether the chart makes the object with the cloud-config: true or empty.
*/}}
{{- define "multicloud-controller-manager.cloudConfig.made" -}}
{{- if has (include "multicloud-controller-manager.cloudConfig.source" .) (list "inline" "config") -}}true{{- end -}}
{{- end -}}

{{/*
Name of the object with the cloud-config. That of an object of the chart has a hash of the content: Pods of the former revision never
get the new content, and a new name in the Pod template replaces them.
*/}}
{{- define "multicloud-controller-manager.cloudConfig.name" -}}
{{- $source := include "multicloud-controller-manager.cloudConfig.source" . -}}
{{- if eq $source "existingSecret" -}}
{{- tpl .Values.cloudConfig.existingSecret.name . -}}
{{- else if eq $source "existingConfigMap" -}}
{{- tpl .Values.cloudConfig.existingConfigMap.name . -}}
{{- else -}}
{{- $name := default (printf "%s-config" (include "multicloud-controller-manager.fullname" .)) .Values.cloudConfig.secretName -}}
{{- printf "%s-%s" $name (hasKey . "verify" | ternary "verify" (include "multicloud-controller-manager.cloudConfig.text" . | sha256sum | trunc 8)) -}}
{{- end -}}
{{- end -}}

{{/*
The object with the cloud-config. Arguments: root and annotations.
*/}}
{{- define "multicloud-controller-manager.cloudConfig.object" -}}
{{- $text := include "multicloud-controller-manager.cloudConfig.text" .root -}}
apiVersion: v1
kind: {{ .root.Values.cloudConfig.renderAs }}
metadata:
  {{- include "multicloud-controller-manager.metadata" (dict "root" .root "name" (include "multicloud-controller-manager.cloudConfig.name" .root) "namespace" (include "multicloud-controller-manager.namespace" .root) "annotations" .annotations) | nindent 2 }}
{{- if eq .root.Values.cloudConfig.renderAs "Secret" }}
type: Opaque
data:
  cloud.conf: {{ $text | b64enc | quote }}
{{- else }}
data:
  cloud.conf: {{ $text | toJson }}
{{- end }}
{{- end -}}

{{/*
Sections of the provider, as a mapping below "config", with the Secret of vsphere.credentials.
*/}}
{{- define "multicloud-controller-manager.cloudConfig.sections" -}}
{{- $config := deepCopy ((get .Values .Values.provider).config | default dict) -}}
{{- $credentials := include "multicloud-controller-manager.credentials" . | fromJson -}}
{{- if $credentials.name -}}
{{- $name := "Global" -}}
{{- range $section, $_ := $config -}}
{{- if eq (lower $section) "global" -}}{{- $name = $section -}}{{- end -}}
{{- end -}}
{{- $global := get $config $name | default dict -}}
{{- $_ := set $config $name (merge $global (dict "secret-name" $credentials.name "secret-namespace" $credentials.namespace)) -}}
{{- end -}}
{{- toJson (dict "config" $config) -}}
{{- end -}}

{{/*
Text of the cloud-config if the chart makes it. Lists of vSphere are one line with commas, in which the last line of a key counts;
those of the other providers are a line for each item.
*/}}
{{- define "multicloud-controller-manager.cloudConfig.text" -}}
{{- if eq (include "multicloud-controller-manager.cloudConfig.source" .) "inline" -}}
{{- .Values.cloudConfig.inline -}}
{{- else -}}
{{- $sections := include "multicloud-controller-manager.cloudConfig.sections" . | fromJson -}}
{{- include "multicloud-controller-manager.gcfg.text" (dict
  "config" $sections.config
  "provider" .Values.provider
  "lists" (ternary "commas" "lines" (eq .Values.provider "vsphere"))
  "path" (printf "%s.config" .Values.provider)) -}}
{{- end -}}
{{- end -}}

{{/*
Volume of the cloud-config. It is a directory with one file, whatever the key is: a changed object then reaches the process.
*/}}
{{- define "multicloud-controller-manager.cloudConfig.volume" -}}
{{- $source := include "multicloud-controller-manager.cloudConfig.source" . -}}
{{- $key := "cloud.conf" -}}
{{- $kind := .Values.cloudConfig.renderAs -}}
{{- if eq $source "existingSecret" -}}
{{- $key = .Values.cloudConfig.existingSecret.key -}}
{{- $kind = "Secret" -}}
{{- else if eq $source "existingConfigMap" -}}
{{- $key = .Values.cloudConfig.existingConfigMap.key -}}
{{- $kind = "ConfigMap" -}}
{{- end -}}
{{- include "multicloud-controller-manager.fileVolume" (dict
  "volume" "cloud-config"
  "kind" $kind
  "name" (include "multicloud-controller-manager.cloudConfig.name" .)
  "items" (dict $key "cloud.conf")) -}}
{{- end -}}
