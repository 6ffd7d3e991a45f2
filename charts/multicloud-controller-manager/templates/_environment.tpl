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
empty if there is no limit. The limit is a quantity of Kubernetes in any of its forms
(https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/).
*/}}
{{- define "multicloud-controller-manager.memoryLimit" -}}
{{- $limit := dig "limits" "memory" "" (.Values.resources | default dict) -}}
{{- $limit = ternary "" (toString $limit) (kindIs "invalid" $limit) -}}
{{- if $limit -}}
{{- if not (regexMatch "^[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i)?$" $limit) -}}
{{- fail (printf "resources.limits.memory is %q, which is not a quantity: use a number with a suffix such as Mi or Gi" $limit) -}}
{{- end -}}
{{- $number := regexFind "^[+-]?[0-9.]+([eE][+-]?[0-9]+)?" $limit -}}
{{- $factors := dict "" 1 "n" 0.000000001 "u" 0.000001 "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18
    "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 -}}
{{- $bytes := minf (mulf (float64 $number) (get $factors (trimPrefix $number $limit))) 9223372036854775807 -}}
{{- if and (ne $bytes 0.0) (lt $bytes 1048576.0) -}}
{{- fail (printf "resources.limits.memory is %q, which is less than 1Mi: use a suffix such as Mi or Gi" $limit) -}}
{{- end -}}
{{- if $bytes -}}
{{- mulf $bytes 0.9 | floor | int64 -}}
{{- end -}}
{{- end -}}
{{- end -}}
