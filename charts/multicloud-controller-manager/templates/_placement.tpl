{{/*
Where the Pods run: node selector, affinity, spread and tolerations.
*/}}
{{- define "multicloud-controller-manager.placement" -}}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity | default (include "multicloud-controller-manager.controlPlaneAffinity" . | fromJson) }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with include "multicloud-controller-manager.tolerations" . | fromJson }}
{{- with .items }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{/*
Node affinity to control plane nodes. The label has no value on some distributions and the value true on others, so that a node
selector finds only a part of them.
*/}}
{{- define "multicloud-controller-manager.controlPlaneAffinity" -}}
{{- $mode := .Values.controlPlaneAffinity -}}
{{- if ne $mode "auto" -}}
{{- else if .Values.kubeconfig.existingSecret -}}
{{- $mode = "none" -}}
{{- else -}}
{{- $mode = ternary "required" "preferred" (eq .Values.kind "DaemonSet") -}}
{{- end -}}
{{- $terms := list -}}
{{- range list "node-role.kubernetes.io/control-plane" "node-role.kubernetes.io/master" -}}
{{- $terms = append $terms (dict "matchExpressions" (list (dict "key" . "operator" "Exists"))) -}}
{{- end -}}
{{- if eq $mode "required" -}}
{{- toJson (dict "nodeAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" (dict "nodeSelectorTerms" $terms))) -}}
{{- else if eq $mode "preferred" -}}
{{- $preferences := list -}}
{{- range $terms -}}
{{- $preferences = append $preferences (dict "weight" 100 "preference" .) -}}
{{- end -}}
{{- toJson (dict "nodeAffinity" (dict "preferredDuringSchedulingIgnoredDuringExecution" $preferences)) -}}
{{- else -}}
{}
{{- end -}}
{{- end -}}

{{- define "multicloud-controller-manager.tolerations" -}}
{{- $items := ternary list .Values.tolerations (not (empty .Values.kubeconfig.existingSecret)) -}}
{{- toJson (dict "items" (concat ($items | default list) .Values.extraTolerations)) -}}
{{- end -}}

{{- define "multicloud-controller-manager.topologySpread" -}}
{{- $constraints := .Values.topologySpreadConstraints -}}
{{- if and (not $constraints) (eq .Values.kind "Deployment") -}}
{{- $selector := dict "matchLabels" (include "multicloud-controller-manager.selectorLabels" . | fromYaml) -}}
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" -}}
{{- $constraints = append $constraints (dict "maxSkew" 1 "topologyKey" . "whenUnsatisfiable" "ScheduleAnyway" "labelSelector" $selector) -}}
{{- end -}}
{{- end -}}
{{- with $constraints -}}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}
