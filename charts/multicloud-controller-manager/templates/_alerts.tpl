{{/*
The groups of files/alerts.yaml without the disabled alerts, each alert with the URL of its page. The file is not a template: its
annotations have the syntax of templates of Prometheus.
*/}}
{{- define "multicloud-controller-manager.alertGroups" -}}
{{- $values := .Values.metrics.prometheusRule -}}
{{- $pages := $values.runbookURL | default "https://github.com/multicloud-ccm/multicloud-ccm/blob/main/docs/runbooks" | trimSuffix "/" -}}
{{- $groups := list -}}
{{- range (.Files.Get "files/alerts.yaml" | fromYaml).groups -}}
{{- $rules := list -}}
{{- range .rules -}}
{{- if not (has .alert ($values.disabled | default list)) -}}
{{- $annotations := set .annotations "runbook_url" (printf "%s/%s.md" $pages .alert) -}}
{{- $rules = append $rules (mergeOverwrite . (dict "annotations" $annotations "for" (dig .alert .for ($values.for | default dict)))) -}}
{{- end -}}
{{- end -}}
{{- if $rules -}}
{{- $groups = append $groups (set . "rules" $rules) -}}
{{- end -}}
{{- end -}}
{{- toYaml $groups -}}
{{- end -}}

{{/*
Fails if a value names an alert that does not exist.
*/}}
{{- define "multicloud-controller-manager.validateAlerts" -}}
{{- $names := list -}}
{{- range (.Files.Get "files/alerts.yaml" | fromYaml).groups -}}
{{- range .rules -}}
{{- $names = append $names .alert -}}
{{- end -}}
{{- end -}}
{{- $values := .Values.metrics.prometheusRule -}}
{{- range $name := concat ($values.disabled | default list) (keys ($values.for | default dict) | sortAlpha) -}}
{{- if not (has $name $names) -}}
{{- fail (printf "metrics.prometheusRule names the alert %q, which does not exist: use one of %s" $name (join ", " $names)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
