{{/*
The value of --controllers, as a YAML list below "items".
*/}}
{{- define "multicloud-controller-manager.controllers" -}}
{{- $controllers := .Values.controllers -}}
{{- if and .Values.aws.tagging.enabled (not (has "tagging" $controllers)) -}}
{{- $controllers = append $controllers "tagging" -}}
{{- end -}}
{{- toJson (dict "items" $controllers) -}}
{{- end -}}

{{/*
Controllers that run, as a mapping of their short names to true: the first item of the list that is the name, with or without a
minus sign, decides, and then an asterisk. Those that the provider does not have are left out: they end at once, and need no
permissions.
*/}}
{{- define "multicloud-controller-manager.enabledControllers" -}}
{{- $names := dict
  "cloud-node" "cloud-node-controller"
  "cloud-node-lifecycle" "cloud-node-lifecycle-controller"
  "service" "service-lb-controller"
  "route" "node-route-controller"
  "tagging" "tagging" -}}
{{- $items := (include "multicloud-controller-manager.controllers" . | fromJson).items -}}
{{- $enabled := dict -}}
{{- range $short, $canonical := $names -}}
{{- $state := "" -}}
{{- range $items -}}
{{- if $state -}}
{{- else if or (eq . $short) (eq . $canonical) -}}
{{- $state = "on" -}}
{{- else if or (eq . (printf "-%s" $short)) (eq . (printf "-%s" $canonical)) -}}
{{- $state = "off" -}}
{{- end -}}
{{- end -}}
{{- if or (eq $state "on") (and (not $state) (has "*" $items) (ne $short "tagging")) -}}
{{- $_ := set $enabled $short true -}}
{{- end -}}
{{- end -}}
{{- if not .Values.clusterCIDR -}}
{{- $enabled = omit $enabled "route" -}}
{{- end -}}
{{- if ne .Values.provider "aws" -}}
{{- $enabled = omit $enabled "tagging" -}}
{{- end -}}
{{- toJson $enabled -}}
{{- end -}}
