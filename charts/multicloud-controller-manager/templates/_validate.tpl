{{/*
Checks of values that the schema cannot make. Each message names the value and the remedy.
*/}}
{{- define "multicloud-controller-manager.validate" -}}
{{- if not .Values.provider -}}
{{- fail "provider is missing: set it to aws, openstack or vsphere" -}}
{{- end -}}
{{- include "multicloud-controller-manager.validate.cloudConfig" . -}}
{{- include "multicloud-controller-manager.validate.credentials" . -}}
{{- include "multicloud-controller-manager.validate.workload" . -}}
{{- include "multicloud-controller-manager.validate.leaderElection" . -}}
{{- include "multicloud-controller-manager.validate.kubeconfig" . -}}
{{- include "multicloud-controller-manager.validate.monitoring" . -}}
{{- include "multicloud-controller-manager.validate.arguments" . -}}
{{- end -}}

{{- define "multicloud-controller-manager.validate.cloudConfig" -}}
{{- $config := printf "%s.config" .Values.provider -}}
{{- $given := list -}}
{{- with .Values.cloudConfig -}}
{{- if .existingSecret.name -}}{{- $given = append $given "cloudConfig.existingSecret.name" -}}{{- end -}}
{{- if .existingConfigMap.name -}}{{- $given = append $given "cloudConfig.existingConfigMap.name" -}}{{- end -}}
{{- if .inline -}}{{- $given = append $given "cloudConfig.inline" -}}{{- end -}}
{{- end -}}
{{- if (get .Values .Values.provider).config -}}{{- $given = append $given $config -}}{{- end -}}
{{- if gt (len $given) 1 -}}
{{- fail (printf "%s are set, but there is one cloud-config: keep one of them" (join " and " $given)) -}}
{{- end -}}
{{- if and (not $given) (ne .Values.provider "aws") (not .Values.rbac.only) -}}
{{- fail (printf "there is no cloud-config: set %s, cloudConfig.existingSecret.name, cloudConfig.existingConfigMap.name or cloudConfig.inline" $config) -}}
{{- end -}}
{{- if .Values.cloudConfig.inline -}}
{{- $line := printf "(?m)^[ \\t]*(?i:provider)[ \\t]*[=:][ \\t]*[\"']?%s[\"']?[ \\t]*([;#].*)?\\r?$" .Values.provider -}}
{{- if not (regexMatch $line .Values.cloudConfig.inline) -}}
{{- fail (printf "cloudConfig.inline does not name the provider: add the line \"provider = %s\" to its section [Global], or correct the value provider" .Values.provider) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "multicloud-controller-manager.validate.credentials" -}}
{{- if and .Values.caBundle.secret .Values.caBundle.configMap -}}
{{- fail "caBundle.secret and caBundle.configMap are set: keep one of them" -}}
{{- end -}}
{{- if eq .Values.provider "vsphere" -}}
{{- $source := include "multicloud-controller-manager.cloudConfig.source" . -}}
{{- with .Values.vsphere.credentials -}}
{{- if and .create .existingSecret.name -}}
{{- fail "vsphere.credentials.create and vsphere.credentials.existingSecret.name are set: keep one of them" -}}
{{- end -}}
{{- if and .create (not .servers) -}}
{{- fail "vsphere.credentials.create needs vsphere.credentials.servers: add the user and the password of each vCenter by its address" -}}
{{- end -}}
{{- if and .servers (not .create) -}}
{{- fail "vsphere.credentials.servers has no effect without vsphere.credentials.create: set it to true" -}}
{{- end -}}
{{- if and .create (ne $source "config") -}}
{{- fail (printf "vsphere.credentials.create needs vsphere.config, in which the chart names the Secret: cloudConfig.%s has to name a Secret that exists, which vsphere.credentials.existingSecret grants access to" $source) -}}
{{- end -}}
{{- if and .create $.Values.kubeconfig.existingSecret -}}
{{- fail "vsphere.credentials.create makes the Secret in this cluster, but with kubeconfig.existingSecret the process reads that of the other cluster: make it there and set vsphere.credentials.existingSecret in both releases" -}}
{{- end -}}
{{- if and .create $.Values.rbac.only -}}
{{- fail "vsphere.credentials.create makes a Secret, but rbac.only makes nothing but RBAC: make the Secret and set vsphere.credentials.existingSecret" -}}
{{- end -}}
{{- if and (or .create .existingSecret.name) (eq $source "config") -}}
{{- range $name, $body := $.Values.vsphere.config -}}
{{- if and (eq (lower $name) "global") (kindIs "map" $body) -}}
{{- range keys $body | sortAlpha -}}
{{- if has (lower .) (list "secret-name" "secret-namespace") -}}
{{- fail (printf "vsphere.config.%s.%s is set, but vsphere.credentials names the Secret: remove one of them" $name .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and (eq .Values.provider "aws") .Values.aws.tagging.enabled (not .Values.aws.tagging.tags) -}}
{{- fail "aws.tagging.enabled needs aws.tagging.tags: add at least one tag" -}}
{{- end -}}
{{- end -}}

{{- define "multicloud-controller-manager.validate.workload" -}}
{{- if and (not .Values.leaderElection.enabled) (or (eq .Values.kind "DaemonSet") (gt (int64 .Values.replicas) 1)) -}}
{{- fail "leaderElection.enabled is false, but several Pods would work at a time: set it to true, or set kind to Deployment and replicas to 1" -}}
{{- end -}}
{{- if and .Values.podDisruptionBudget.enabled (eq .Values.kind "DaemonSet") -}}
{{- fail "podDisruptionBudget.enabled has no effect with kind DaemonSet, whose Pods drains skip: set it to false, or set kind to Deployment" -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (include "multicloud-controller-manager.hostNetwork" .) -}}
{{- fail "networkPolicy.enabled has no effect on Pods in the network of the host: set it to false, or set hostNetwork to false" -}}
{{- end -}}
{{- if and .Values.routes.allocateNodeCIDRs (not .Values.clusterCIDR) -}}
{{- fail "routes.allocateNodeCIDRs needs clusterCIDR: set the address blocks of the Pods" -}}
{{- end -}}
{{- if and (include "multicloud-controller-manager.hostNetwork" .) (eq .Values.dnsPolicy "ClusterFirst") -}}
{{- fail "dnsPolicy ClusterFirst has no effect with hostNetwork: set it to ClusterFirstWithHostNet" -}}
{{- end -}}
{{- if and (eq .Values.dnsPolicy "None") (not .Values.dnsConfig) -}}
{{- fail "dnsPolicy None needs dnsConfig: add nameservers" -}}
{{- end -}}
{{- end -}}

{{/*
client-go has the same limits.
*/}}
{{- define "multicloud-controller-manager.validate.leaderElection" -}}
{{- with .Values.leaderElection -}}
{{- $lease := include "multicloud-controller-manager.milliseconds" .leaseDuration | float64 -}}
{{- $renew := include "multicloud-controller-manager.milliseconds" .renewDeadline | float64 -}}
{{- $retry := include "multicloud-controller-manager.milliseconds" .retryPeriod | float64 -}}
{{- if not .enabled -}}
{{- else if not $retry -}}
{{- fail "leaderElection.retryPeriod must be longer than 0s" -}}
{{- else if le $renew (mulf $retry 1.2) -}}
{{- fail (printf "leaderElection.renewDeadline is %s, which must be longer than 1.2 times leaderElection.retryPeriod, which is %s" .renewDeadline .retryPeriod) -}}
{{- else if le $lease $renew -}}
{{- fail (printf "leaderElection.leaseDuration is %s, which must be longer than leaderElection.renewDeadline, which is %s" .leaseDuration .renewDeadline) -}}
{{- else if lt $lease 1000.0 -}}
{{- fail (printf "leaderElection.leaseDuration is %s, which must be at least 1s" .leaseDuration) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "multicloud-controller-manager.milliseconds" -}}
{{- $start := toDate "2006" "2000" -}}
{{- ((mustDateModify . $start).Sub $start).Milliseconds -}}
{{- end -}}

{{- define "multicloud-controller-manager.validate.kubeconfig" -}}
{{- if and .Values.rbac.create (not .Values.kubeconfig.existingSecret) (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) -}}
{{- fail "serviceAccount.create is false and there is no serviceAccount.name: the permissions would be those of the account default, and of all Pods that have it: set the name" -}}
{{- end -}}
{{- if .Values.kubeconfig.existingSecret -}}
{{- if .Values.rbac.only -}}
{{- fail "kubeconfig.existingSecret and rbac.only are set: they belong into two releases, the first in the cluster where the controller runs, the second in the one that it works for" -}}
{{- end -}}
{{- if eq .Values.kind "DaemonSet" -}}
{{- fail "kubeconfig.existingSecret needs kind Deployment: the controller does not run on nodes of its own cluster" -}}
{{- end -}}
{{- if .Values.apiServer.host -}}
{{- fail "apiServer.host has no effect with kubeconfig.existingSecret, which has the address of the API server: remove it" -}}
{{- end -}}
{{- end -}}
{{- if and .Values.rbac.only (not .Values.rbac.create) -}}
{{- fail "rbac.only makes nothing if rbac.create is false: set rbac.create to true" -}}
{{- end -}}
{{- end -}}

{{- define "multicloud-controller-manager.validate.monitoring" -}}
{{- with .Values.metrics -}}
{{- if and .serviceMonitor.enabled .podMonitor.enabled -}}
{{- fail "metrics.serviceMonitor.enabled and metrics.podMonitor.enabled are set, which count everything twice: keep one of them" -}}
{{- end -}}
{{- if .podMonitor.bearerTokenFile -}}
{{- fail "metrics.podMonitor.bearerTokenFile is set, which a PodMonitor does not have: use metrics.serviceMonitor, or authorization.existingSecret" -}}
{{- end -}}
{{- if and .serviceMonitor.bearerTokenFile .serviceMonitor.authorization.existingSecret -}}
{{- fail "metrics.serviceMonitor.bearerTokenFile and metrics.serviceMonitor.authorization.existingSecret are set: keep one of them" -}}
{{- end -}}
{{- range $name := list "serviceMonitor" "podMonitor" -}}
{{- if and (get $.Values.metrics $name).enabled (not $.Values.metrics.enabled) -}}
{{- fail (printf "metrics.%s.enabled needs metrics.enabled, without which the metrics are not reachable: set it to true" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
Flags that the chart sets, and on which other objects depend, are not for extraArgs. An empty value means that there is no other way.
The process reads an underscore in a flag as a hyphen.
*/}}
{{- define "multicloud-controller-manager.validate.arguments" -}}
{{- $values := dict
  "cloud-provider" ""
  "cloud-config" "cloudConfig"
  "cluster-name" "clusterName"
  "cluster-cidr" "clusterCIDR"
  "configure-cloud-routes" "clusterCIDR"
  "controllers" "controllers"
  "use-service-account-credentials" "useServiceAccountCredentials"
  "leader-elect" "leaderElection.enabled"
  "leader-elect-resource-name" "leaderElection.name"
  "leader-elect-resource-namespace" "leaderElection.namespace"
  "bind-address" "metrics.enabled"
  "secure-port" "securePort"
  "kubeconfig" "kubeconfig"
  "authentication-kubeconfig" "kubeconfig"
  "authorization-kubeconfig" "kubeconfig"
  "tls-cert-file" "tls.existingSecret"
  "tls-private-key-file" "tls.existingSecret" -}}
{{- range .Values.extraArgs -}}
{{- $flag := . | trimPrefix "-" | trimPrefix "-" | splitList "=" | first | replace "_" "-" -}}
{{- if eq $flag "cloud-provider" -}}
{{- fail "extraArgs has --cloud-provider, but the cloud-config names the provider: remove it and set the value provider" -}}
{{- else if hasKey $values $flag -}}
{{- fail (printf "extraArgs has --%s, which the chart sets: remove it and use the value %s" $flag (get $values $flag)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
