{{/*
Environment variables of the container, as a YAML list below "items". A variable of the value env replaces ours of the same name.
*/}}
{{- define "multicloud-controller-manager.environment" -}}
{{- $own := list -}}
{{- with .Values.apiServer -}}
{{- if .host -}}
{{- $own = concat $own (list (dict "name" "KUBERNETES_SERVICE_HOST" "value" .host) (dict "name" "KUBERNETES_SERVICE_PORT" "value" (.port | int64 | toString))) -}}
{{- end -}}
{{- end -}}
{{- with include "multicloud-controller-manager.memoryLimit" . -}}
{{- $own = append $own (dict "name" "GOMEMLIMIT" "value" .) -}}
{{- end -}}
{{- if or .Values.caBundle.secret .Values.caBundle.configMap -}}
{{- $own = append $own (dict "name" "SSL_CERT_DIR" "value" "/etc/cloud-ca") -}}
{{- end -}}
{{- if or .Values.proxy.http .Values.proxy.https -}}
{{- with .Values.proxy.http -}}
{{- $own = append $own (dict "name" "HTTP_PROXY" "value" .) -}}
{{- end -}}
{{- with .Values.proxy.https -}}
{{- $own = append $own (dict "name" "HTTPS_PROXY" "value" .) -}}
{{- end -}}
{{- $own = append $own (dict "name" "NO_PROXY" "value" (include "multicloud-controller-manager.noProxy" .)) -}}
{{- end -}}
{{- if .Values.aws.credentials.existingSecret -}}
{{- $own = append $own (dict "name" "AWS_SHARED_CREDENTIALS_FILE" "value" "/etc/cloud-aws/credentials") -}}
{{- end -}}
{{- with .Values.aws.webIdentity.roleARN -}}
{{- $own = concat $own (list (dict "name" "AWS_ROLE_ARN" "value" .) (dict "name" "AWS_WEB_IDENTITY_TOKEN_FILE" "value" "/etc/cloud-aws-token/token")) -}}
{{- end -}}
{{- $given := dict -}}
{{- range .Values.env -}}
{{- $_ := set $given .name true -}}
{{- end -}}
{{- $items := list -}}
{{- range $own -}}
{{- if not (hasKey $given .name) -}}
{{- $items = append $items . -}}
{{- end -}}
{{- end -}}
{{- toJson (dict "items" (concat $items .Values.env)) -}}
{{- end -}}

{{/*
GOMEMLIMIT: 90 % of the memory limit in bytes, so that the garbage collector works harder before the kernel ends the process. It is
empty if there is no limit.
*/}}
{{- define "multicloud-controller-manager.memoryLimit" -}}
{{- $limit := dig "limits" "memory" "" (.Values.resources | default dict) -}}
{{- if kindIs "float64" $limit -}}
{{- $limit = int64 $limit -}}
{{- end -}}
{{- $factors := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- if regexMatch "^[0-9]+(\\.[0-9]+)?(k|M|G|T|Ki|Mi|Gi|Ti)?$" (toString $limit) -}}
{{- $number := regexFind "^[0-9.]+" (toString $limit) -}}
{{- $factor := get $factors (trimPrefix $number (toString $limit)) -}}
{{- mulf (float64 $number) $factor 0.9 | floor | int64 -}}
{{- end -}}
{{- end -}}
