{{/*
Whether the chart makes roles and bindings: true or empty. With a kubeconfig they belong into the other cluster.
*/}}
{{- define "multicloud-controller-manager.rbac" -}}
{{- if and .Values.rbac.create (empty .Values.kubeconfig.existingSecret) -}}true{{- end -}}
{{- end -}}

{{/*
A rule. Arguments: group, resources, verbs and names.
*/}}
{{- define "multicloud-controller-manager.rule" -}}
- apiGroups: [{{ .group | quote }}]
  resources: [{{ join ", " .resources }}]
  {{- with .names }}
  resourceNames:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  verbs: [{{ join ", " .verbs }}]
{{- end -}}

{{/*
Rules of the ClusterRole: those of our own account, which with accounts of the controllers has only what all of them share.
*/}}
{{- define "multicloud-controller-manager.clusterRules" -}}
{{- $enabled := include "multicloud-controller-manager.enabledControllers" . | fromJson -}}
{{- if .Values.useServiceAccountCredentials -}}
{{- $enabled = dict "service" $enabled.service -}}
{{- end -}}
{{- $nodes := list "list" "watch" -}}
{{- if or (get $enabled "cloud-node") (get $enabled "cloud-node-lifecycle") -}}
{{- $nodes = append $nodes "get" -}}
{{- end -}}
{{- if get $enabled "cloud-node" -}}
{{- $nodes = append $nodes "update" -}}
{{- end -}}
{{- if or (get $enabled "cloud-node") (get $enabled "cloud-node-lifecycle") $enabled.tagging -}}
{{- $nodes = append $nodes "patch" -}}
{{- end -}}
{{- if get $enabled "cloud-node-lifecycle" -}}
{{- $nodes = append $nodes "delete" -}}
{{- end -}}
{{ include "multicloud-controller-manager.rule" (dict "group" "" "resources" (list "events") "verbs" (list "create" "patch")) }}
{{ include "multicloud-controller-manager.rule" (dict "group" "" "resources" (list "nodes") "verbs" (sortAlpha $nodes)) }}
{{- if or (get $enabled "cloud-node") $enabled.route }}
{{ include "multicloud-controller-manager.rule" (dict "group" "" "resources" (list "nodes/status") "verbs" (list "patch")) }}
{{- end }}
{{- if $enabled.service }}
{{ include "multicloud-controller-manager.rule" (dict "group" "" "resources" (list "services") "verbs" (list "list" "watch")) }}
{{- if not .Values.useServiceAccountCredentials }}
{{ include "multicloud-controller-manager.rule" (dict "group" "" "resources" (list "services/status") "verbs" (list "patch")) }}
{{- end }}
{{- end }}
{{ include "multicloud-controller-manager.rule" (dict "group" "authentication.k8s.io" "resources" (list "tokenreviews") "verbs" (list "create")) }}
{{ include "multicloud-controller-manager.rule" (dict "group" "authorization.k8s.io" "resources" (list "subjectaccessreviews") "verbs" (list "create")) }}
{{- with .Values.rbac.extraRules }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/*
Accounts that the process uses with useServiceAccountCredentials, as a YAML list below "items". Providers write Events as
node-controller, whatever controllers run.
*/}}
{{- define "multicloud-controller-manager.accounts" -}}
{{- $enabled := include "multicloud-controller-manager.enabledControllers" . | fromJson -}}
{{- $names := list "node-controller" -}}
{{- if $enabled.service -}}{{- $names = append $names "service-controller" -}}{{- end -}}
{{- if $enabled.route -}}{{- $names = append $names "route-controller" -}}{{- end -}}
{{- if $enabled.tagging -}}{{- $names = append $names "tagging-controller" -}}{{- end -}}
{{- if eq .Values.provider "vsphere" -}}{{- $names = append $names "vsphere-cloud-controller-manager" -}}{{- end -}}
{{- toJson (dict "items" $names) -}}
{{- end -}}

{{/*
A role with its binding. Arguments: root, suffix of the name, namespace (empty for a ClusterRole), rules and whom the binding is
for instead of our own account: subjects, or account, one in kube-system. Annotations are optional.
*/}}
{{- define "multicloud-controller-manager.boundRole" -}}
{{- $name := include "multicloud-controller-manager.rbacName" .root -}}
{{- with .suffix -}}
{{- $name = printf "%s:%s" $name . -}}
{{- end -}}
{{- $scope := ternary "" "Cluster" (not (empty .namespace)) -}}
{{- $metadata := include "multicloud-controller-manager.metadata" (dict "root" .root "name" $name "namespace" .namespace "annotations" .annotations) -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $scope }}Role
metadata:
  {{- $metadata | nindent 2 }}
rules:
  {{- .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $scope }}RoleBinding
metadata:
  {{- $metadata | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $scope }}Role
  name: {{ $name | quote }}
subjects:
  {{- if .subjects }}
  {{- toYaml .subjects | nindent 2 }}
  {{- else }}
  {{- include "multicloud-controller-manager.subject" (dict "root" .root "account" .account) | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "multicloud-controller-manager.subject" -}}
- kind: ServiceAccount
  {{- if .account }}
  name: {{ .account }}
  namespace: kube-system
  {{- else }}
  name: {{ include "multicloud-controller-manager.serviceAccountName" .root | quote }}
  namespace: {{ include "multicloud-controller-manager.namespace" .root | quote }}
  {{- end }}
{{- end -}}

{{/*
Rules for one Lease. The name of what is created cannot be limited.
*/}}
{{- define "multicloud-controller-manager.leaseRules" -}}
{{ include "multicloud-controller-manager.rule" (dict "group" "coordination.k8s.io" "resources" (list "leases") "verbs" (list "create")) }}
{{ include "multicloud-controller-manager.rule" (dict "group" "coordination.k8s.io" "resources" (list "leases") "names" (list .) "verbs" (list "get" "update")) }}
{{- end -}}
