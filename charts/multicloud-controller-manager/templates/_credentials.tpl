{{/*
Secret of vsphere.credentials: its name and namespace. The mapping is empty for other providers and if there is none.
*/}}
{{- define "multicloud-controller-manager.credentials" -}}
{{- $namespace := include "multicloud-controller-manager.namespace" . -}}
{{- $secret := dict -}}
{{- with .Values.vsphere.credentials -}}
{{- if ne $.Values.provider "vsphere" -}}
{{- else if .existingSecret.name -}}
{{- $secret = dict "name" (tpl .existingSecret.name $) "namespace" (default $namespace .existingSecret.namespace) -}}
{{- else if .create -}}
{{- $secret = dict "name" (printf "%s-credentials%s" (include "multicloud-controller-manager.fullname" $) (hasKey $ "verify" | ternary "-verify" "")) "namespace" $namespace -}}
{{- end -}}
{{- end -}}
{{- toJson $secret -}}
{{- end -}}

{{/*
Whether the chart makes that Secret: true or empty.
*/}}
{{- define "multicloud-controller-manager.credentials.made" -}}
{{- if and .Values.vsphere.credentials.create (eq .Values.provider "vsphere") -}}true{{- end -}}
{{- end -}}

{{/*
That Secret. Arguments: root and annotations.
*/}}
{{- define "multicloud-controller-manager.credentials.object" -}}
{{- $secret := include "multicloud-controller-manager.credentials" .root | fromJson -}}
apiVersion: v1
kind: Secret
metadata:
  {{- include "multicloud-controller-manager.metadata" (dict "root" .root "name" $secret.name "namespace" $secret.namespace "annotations" .annotations) | nindent 2 }}
type: Opaque
data:
  {{- range $server, $login := .root.Values.vsphere.credentials.servers }}
  {{ printf "%s.username" $server }}: {{ $login.username | b64enc | quote }}
  {{ printf "%s.password" $server }}: {{ $login.password | b64enc | quote }}
  {{- end }}
{{- end -}}

{{/*
Secrets that the process reads from the Kubernetes API, as a list of name and namespace below "items": those of vsphere.credentials
and of the sections of vsphere.config, in whose keys case makes no difference.
*/}}
{{- define "multicloud-controller-manager.secretsRead" -}}
{{- $found := dict -}}
{{- with include "multicloud-controller-manager.credentials" . | fromJson -}}
{{- $_ := set $found (printf "%s/%s" .namespace .name) . -}}
{{- end -}}
{{- if eq .Values.provider "vsphere" -}}
{{- range $name, $body := .Values.vsphere.config -}}
{{- if kindIs "map" $body -}}
{{- range $_, $connection := prepend (values $body) $body -}}
{{- if kindIs "map" $connection -}}
{{- $keys := dict -}}
{{- range $key, $value := $connection -}}
{{- if kindIs "float64" $value -}}
{{- $value = int64 $value -}}
{{- end -}}
{{- $_ := set $keys (lower $key) (toString ($value | default "")) -}}
{{- end -}}
{{- if and (get $keys "secret-name") (get $keys "secret-namespace") -}}
{{- $secret := dict "name" (get $keys "secret-name") "namespace" (get $keys "secret-namespace") -}}
{{- $_ := set $found (printf "%s/%s" $secret.namespace $secret.name) $secret -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $items := list -}}
{{- range keys $found | sortAlpha -}}
{{- $items = append $items (get $found .) -}}
{{- end -}}
{{- toJson (dict "items" $items) -}}
{{- end -}}
