{{/*
Arguments of the process, one item of a YAML list each. They do not depend on the provider: flags of a provider have no effect under
another one.
*/}}
{{- define "multicloud-controller-manager.arguments" -}}
- {{ printf "--cloud-config=%s/cloud.conf" (trimSuffix "/" .Values.cloudConfig.mountPath) | quote }}
- {{ printf "--cluster-name=%s" .Values.clusterName | quote }}
{{ include "multicloud-controller-manager.arguments.controllers" . }}
{{ include "multicloud-controller-manager.arguments.leaderElection" . }}
{{ include "multicloud-controller-manager.arguments.serving" . }}
{{- with include "multicloud-controller-manager.arguments.limits" . }}
{{ . | trim }}
{{- end }}
{{- with include "multicloud-controller-manager.arguments.providers" . }}
{{ . | trim }}
{{- end }}
{{- if .Values.kubeconfig.existingSecret }}
- --kubeconfig=/etc/cloud-kubeconfig/kubeconfig
- --authentication-kubeconfig=/etc/cloud-kubeconfig/kubeconfig
- --authorization-kubeconfig=/etc/cloud-kubeconfig/kubeconfig
{{- end }}
- --profiling={{ .Values.profiling }}
- --logging-format={{ .Values.log.format }}
- --v={{ .Values.log.verbosity }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{- define "multicloud-controller-manager.arguments.controllers" -}}
- {{ printf "--controllers=%s" (join "," (include "multicloud-controller-manager.controllers" . | fromJson).items) | quote }}
{{- if .Values.clusterCIDR }}
- --configure-cloud-routes=true
- {{ printf "--cluster-cidr=%s" .Values.clusterCIDR | quote }}
{{- else }}
- --configure-cloud-routes=false
{{- end }}
{{- with .Values.routes.reconciliationPeriod }}
- --route-reconciliation-period={{ . }}
{{- end }}
{{- if .Values.routes.allocateNodeCIDRs }}
- --allocate-node-cidrs=true
{{- end }}
{{- if .Values.allowUntaggedCloud }}
- --allow-untagged-cloud=true
{{- end }}
{{- if .Values.useServiceAccountCredentials }}
- --use-service-account-credentials=true
{{- end }}
{{- end -}}

{{- define "multicloud-controller-manager.arguments.leaderElection" -}}
{{- with .Values.leaderElection -}}
- --leader-elect={{ .enabled }}
{{- if .enabled }}
- {{ printf "--leader-elect-resource-name=%s" (include "multicloud-controller-manager.leaseName" $) | quote }}
- {{ printf "--leader-elect-resource-namespace=%s" (include "multicloud-controller-manager.leaseNamespace" $) | quote }}
- --leader-elect-lease-duration={{ .leaseDuration }}
- --leader-elect-renew-deadline={{ .renewDeadline }}
- --leader-elect-retry-period={{ .retryPeriod }}
{{- end }}
{{- end -}}
{{- end -}}

{{/*
The server for webhooks is off: there are none.
*/}}
{{- define "multicloud-controller-manager.arguments.serving" -}}
- --bind-address={{ ternary "127.0.0.1" "0.0.0.0" (eq (include "multicloud-controller-manager.loopbackOnly" .) "true") }}
- --secure-port={{ .Values.securePort | int64 }}
- --webhook-secure-port=0
{{- if .Values.tls.existingSecret }}
- --tls-cert-file=/etc/cloud-tls/tls.crt
- --tls-private-key-file=/etc/cloud-tls/tls.key
{{- end }}
{{- with .Values.tls.minVersion }}
- --tls-min-version={{ . }}
{{- end }}
{{- with .Values.tls.cipherSuites }}
- --tls-cipher-suites={{ join "," . }}
{{- end }}
{{- end -}}

{{- define "multicloud-controller-manager.arguments.limits" -}}
{{- range $flag, $value := dict
  "concurrent-node-syncs" .Values.concurrency.nodes
  "concurrent-node-status-updates" .Values.concurrency.nodeStatus
  "concurrent-node-lifecycle-syncs" .Values.concurrency.nodeLifecycle
  "concurrent-service-syncs" .Values.concurrency.services
  "kube-api-burst" .Values.kubeAPI.burst }}
{{- if gt (int64 $value) 0 }}
- --{{ $flag }}={{ int64 $value }}
{{- end }}
{{- end }}
{{- if gt (float64 .Values.kubeAPI.qps) 0.0 }}
- --kube-api-qps={{ .Values.kubeAPI.qps }}
{{- end }}
{{- with .Values.featureGates }}
{{- $gates := list }}
{{- range $name, $value := . }}
{{- $gates = append $gates (printf "%s=%t" $name $value) }}
{{- end }}
- {{ printf "--feature-gates=%s" (join "," $gates) | quote }}
{{- end }}
{{- end -}}

{{/*
Flags that only one provider has an effect for. A tag whose value has an equals sign is read as CSV.
*/}}
{{- define "multicloud-controller-manager.arguments.providers" -}}
{{- with .Values.aws.tagging }}
{{- if .enabled }}
{{- range .resources }}
- --resources={{ . }}
{{- end }}
{{- range $key, $value := .tags }}
{{- if contains "=" $value }}
- {{ printf "--tags=\"%s=%s\"" $key $value | toJson }}
{{- else }}
- {{ printf "--tags=%s=%s" $key $value | toJson }}
{{- end }}
{{- end }}
- --tagging-controller-concurrent-node-syncs={{ .concurrentSyncs | int64 }}
{{- if .rateLimit }}
- --tagging-controller-rate-limit={{ .rateLimit }}
{{- end }}
{{- if .burstLimit }}
- --tagging-controller-burst-limit={{ .burstLimit | int64 }}
{{- end }}
{{- if .batching }}
- --tagging-controller-enable-batching=true
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.vsphere.nodeLabels }}
{{- $labels := list }}
{{- range $key, $value := . }}
{{- $labels = append $labels (printf "%s=%s" $key $value) }}
{{- end }}
- {{ printf "--node-labels=%s" (join "," $labels) | quote }}
{{- end }}
{{- end -}}
