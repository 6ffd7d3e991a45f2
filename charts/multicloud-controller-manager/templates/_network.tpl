{{/*
Whether the Pods use the network of the host: true or empty. With a kubeconfig they do not.
*/}}
{{- define "multicloud-controller-manager.hostNetwork" -}}
{{- if and .Values.hostNetwork (not .Values.kubeconfig.existingSecret) -}}true{{- end -}}
{{- end -}}

{{/*
Whether the secure port is open on loopback only: true or empty.
*/}}
{{- define "multicloud-controller-manager.loopbackOnly" -}}
{{- if and (include "multicloud-controller-manager.hostNetwork" .) (not .Values.metrics.enabled) -}}true{{- end -}}
{{- end -}}

{{- define "multicloud-controller-manager.dnsPolicy" -}}
{{- default (ternary "ClusterFirst" "Default" (not (empty .Values.kubeconfig.existingSecret))) .Values.dnsPolicy -}}
{{- end -}}

{{/*
Hosts that are reached without the proxy. The metadata service of clouds is link-local; 169.254.170.23 and fd00:ec2::23 serve the
credentials of EKS Pod Identity.
*/}}
{{- define "multicloud-controller-manager.noProxy" -}}
{{- $hosts := list (default "$(KUBERNETES_SERVICE_HOST)" .Values.apiServer.host) ".svc" ".cluster.local" "localhost" "127.0.0.1" "::1" "169.254.169.254" "fd00:ec2::254" "169.254.170.23" "fd00:ec2::23" -}}
{{- join "," (uniq (concat $hosts .Values.proxy.noProxy)) -}}
{{- end -}}
