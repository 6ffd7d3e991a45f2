{{/*
Environment variables of the container, as a YAML list below "items". A variable of the value env replaces ours of the same name.
*/}}
{{- define "multicloud-controller-manager.environment" -}}
{{- $own := list -}}
{{- /* The process records Events of its Pod, but not in the cluster of a kubeconfig, which does not have the Pod. */ -}}
{{- if not .Values.kubeconfig.existingSecret -}}
{{- range $name, $path := dict "POD_NAME" "metadata.name" "POD_NAMESPACE" "metadata.namespace" "POD_UID" "metadata.uid" -}}
{{- $own = append $own (dict "name" $name "valueFrom" (dict "fieldRef" (dict "apiVersion" "v1" "fieldPath" $path))) -}}
{{- end -}}
{{- end -}}
{{- with .Values.apiServer -}}
{{- if .host -}}
{{- $own = concat $own (list (dict "name" "KUBERNETES_SERVICE_HOST" "value" .host) (dict "name" "KUBERNETES_SERVICE_PORT" "value" (.port | int64 | toString))) -}}
{{- end -}}
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
