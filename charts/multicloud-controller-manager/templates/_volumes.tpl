{{/*
Files that the process reads, as a mapping with "volumes" and "mounts". The mounts do not depend on the provider.
*/}}
{{- define "multicloud-controller-manager.files" -}}
{{- $volumes := list (include "multicloud-controller-manager.cloudConfig.volume" . | fromJson) -}}
{{- $mounts := list (dict "name" "cloud-config" "mountPath" .Values.cloudConfig.mountPath "readOnly" true) -}}
{{- with .Values.caBundle -}}
{{- if or .secret .configMap -}}
{{- $volumes = append $volumes (include "multicloud-controller-manager.fileVolume" (dict "volume" "cloud-ca" "kind" (ternary "Secret" "ConfigMap" (not (empty .secret))) "name" (default .configMap .secret) "items" (dict .key "ca.crt")) | fromJson) -}}
{{- $mounts = append $mounts (dict "name" "cloud-ca" "mountPath" "/etc/cloud-ca" "readOnly" true) -}}
{{- end -}}
{{- end -}}
{{- with .Values.kubeconfig -}}
{{- if .existingSecret -}}
{{- $volumes = append $volumes (include "multicloud-controller-manager.fileVolume" (dict "volume" "cloud-kubeconfig" "kind" "Secret" "name" .existingSecret "items" (dict .key "kubeconfig")) | fromJson) -}}
{{- $mounts = append $mounts (dict "name" "cloud-kubeconfig" "mountPath" "/etc/cloud-kubeconfig" "readOnly" true) -}}
{{- end -}}
{{- end -}}
{{- with .Values.tls.existingSecret -}}
{{- $volumes = append $volumes (include "multicloud-controller-manager.fileVolume" (dict "volume" "cloud-tls" "kind" "Secret" "name" . "items" (dict "tls.crt" "tls.crt" "tls.key" "tls.key")) | fromJson) -}}
{{- $mounts = append $mounts (dict "name" "cloud-tls" "mountPath" "/etc/cloud-tls" "readOnly" true) -}}
{{- end -}}
{{- with .Values.aws.credentials -}}
{{- if .existingSecret -}}
{{- /* Clusters of other clouds do not have the Secret. */ -}}
{{- $volumes = append $volumes (include "multicloud-controller-manager.fileVolume" (dict "volume" "cloud-aws" "kind" "Secret" "name" (tpl .existingSecret $) "items" (dict .key "credentials") "optional" (ne $.Values.provider "aws")) | fromJson) -}}
{{- $mounts = append $mounts (dict "name" "cloud-aws" "mountPath" "/etc/cloud-aws" "readOnly" true) -}}
{{- end -}}
{{- end -}}
{{- with .Values.aws.webIdentity -}}
{{- if .roleARN -}}
{{- $token := dict "serviceAccountToken" (dict "audience" .audience "expirationSeconds" (int64 .expirationSeconds) "path" "token") -}}
{{- $volumes = append $volumes (dict "name" "cloud-aws-token" "projected" (dict "defaultMode" 288 "sources" (list $token))) -}}
{{- $mounts = append $mounts (dict "name" "cloud-aws-token" "mountPath" "/etc/cloud-aws-token" "readOnly" true) -}}
{{- end -}}
{{- end -}}
{{- toJson (dict "volumes" (concat $volumes .Values.extraVolumes) "mounts" (concat $mounts .Values.extraVolumeMounts)) -}}
{{- end -}}

{{/*
A volume of some keys of a Secret or ConfigMap. Arguments: volume, kind, name, items (key to file) and optional. The mode, 0440 as a
decimal number, lets the group read, which is that of the security context.
*/}}
{{- define "multicloud-controller-manager.fileVolume" -}}
{{- $items := list -}}
{{- range $key, $file := .items -}}
{{- $items = append $items (dict "key" $key "path" $file) -}}
{{- end -}}
{{- $source := dict "defaultMode" 288 "items" $items -}}
{{- if .optional -}}
{{- $_ := set $source "optional" true -}}
{{- end -}}
{{- if eq .kind "Secret" -}}
{{- toJson (dict "name" .volume "secret" (set $source "secretName" .name)) -}}
{{- else -}}
{{- toJson (dict "name" .volume "configMap" (set $source "name" .name)) -}}
{{- end -}}
{{- end -}}
