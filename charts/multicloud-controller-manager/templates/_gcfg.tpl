{{/*
The text of a cloud-config. Arguments: config, a mapping of sections; provider; path, the name of the value in messages.

Strings are in quotes with the four escapes that gcfg reads. [Global] is the first section and provider its first key; the others
are sorted.
*/}}
{{- define "multicloud-controller-manager.gcfg.text" -}}
{{- $root := . -}}
{{- $global := dict -}}
{{- $globals := list -}}
{{- $sections := dict -}}
{{- range $name, $body := .config -}}
{{- $path := printf "%s.%s" $root.path $name -}}
{{- include "multicloud-controller-manager.gcfg.checkName" (dict "name" $name "path" $path) -}}
{{- if not (or (kindIs "map" $body) (kindIs "invalid" $body)) -}}
{{- fail (printf "%s must be a mapping of keys to values: it is a section of the cloud-config" $path) -}}
{{- end -}}
{{- if eq (lower $name) "global" -}}
{{- $globals = append $globals $name -}}
{{- $global = $body | default dict -}}
{{- else -}}
{{- $_ := set $sections $name ($body | default dict) -}}
{{- end -}}
{{- end -}}
{{- if gt (len $globals) 1 -}}
{{- fail (printf "%s has the sections %s, which are the same: put their keys into one" .path (join " and " $globals)) -}}
{{- end -}}
{{- $keys := dict -}}
{{- range $key, $value := $global -}}
{{- if ne (lower $key) "provider" -}}
{{- $_ := set $keys $key $value -}}
{{- else if ne (toString $value) $root.provider -}}
{{- fail (printf "%s.%s.%s is %q, but provider is %q: remove it, the chart adds it" $root.path (first $globals) $key (toString $value) $root.provider) -}}
{{- end -}}
{{- end -}}
[Global]
provider = {{ .provider }}
{{ include "multicloud-controller-manager.gcfg.section" (dict "name" "Global" "body" $keys "headed" true "lists" .lists "path" (printf "%s.Global" .path)) }}
{{- range $name := keys $sections | sortAlpha -}}
{{- include "multicloud-controller-manager.gcfg.section" (dict "name" $name "body" (get $sections $name) "lists" $root.lists "path" (printf "%s.%s" $root.path $name)) -}}
{{- end -}}
{{- end -}}

{{/*
One section: its header, its keys, and then its subsections, each with a header of its own. The header of a section with nothing but
subsections is left out, as is that of a section whose header is written.
*/}}
{{- define "multicloud-controller-manager.gcfg.section" -}}
{{- $root := . -}}
{{- $subsections := dict -}}
{{- $keys := dict -}}
{{- range $key, $value := .body -}}
{{- if kindIs "map" $value -}}
{{- $_ := set $subsections $key $value -}}
{{- else -}}
{{- $_ := set $keys $key $value -}}
{{- end -}}
{{- end -}}
{{- if not (or .headed (and $subsections (not $keys))) -}}
{{ printf "\n[%s]\n" .name }}
{{- end -}}
{{- include "multicloud-controller-manager.gcfg.keys" (dict "body" $keys "lists" .lists "path" .path) -}}
{{- range $name := keys $subsections | sortAlpha -}}
{{- $path := printf "%s[%q]" $root.path $name -}}
{{- include "multicloud-controller-manager.gcfg.checkText" (dict "text" $name "path" (printf "the name of %s" $path) "pattern" "[\\x00-\\x1f\\x{FEFF}]") -}}
{{ printf "\n[%s \"%s\"]\n" $root.name ($name | replace "\\" "\\\\" | replace "\"" "\\\"") }}
{{- range $key, $value := get $subsections $name -}}
{{- if kindIs "map" $value -}}
{{- fail (printf "%s.%s must be a plain value or a list: a subsection of the cloud-config has no subsections" $path $key) -}}
{{- end -}}
{{- end -}}
{{- include "multicloud-controller-manager.gcfg.keys" (dict "body" (get $subsections $name) "lists" $root.lists "path" $path) -}}
{{- end -}}
{{- end -}}

{{/*
The keys of a section. A null and an empty list leave a key out. A list is a line for each item, or one line with commas: which one
depends on the provider.
*/}}
{{- define "multicloud-controller-manager.gcfg.keys" -}}
{{- $root := . -}}
{{- range $key := keys .body | sortAlpha -}}
{{- $value := get $root.body $key -}}
{{- $path := printf "%s.%s" $root.path $key -}}
{{- include "multicloud-controller-manager.gcfg.checkName" (dict "name" $key "path" $path) -}}
{{- if kindIs "invalid" $value -}}
{{- else if not (kindIs "slice" $value) -}}
{{ printf "%s = %s\n" $key (include "multicloud-controller-manager.gcfg.scalar" (dict "value" $value "path" $path)) }}
{{- else if eq $root.lists "lines" -}}
{{- range $value -}}
{{ printf "%s = %s\n" $key (include "multicloud-controller-manager.gcfg.scalar" (dict "value" . "path" $path)) }}
{{- end -}}
{{- else if $value -}}
{{- $items := list -}}
{{- range $value -}}
{{- if kindIs "string" . -}}
{{- $items = append $items (toString . | replace "\\" "\\\\" | replace "," "\\,") -}}
{{- else -}}
{{- $items = append $items (include "multicloud-controller-manager.gcfg.scalar" (dict "value" . "path" $path)) -}}
{{- end -}}
{{- end -}}
{{ printf "%s = %s\n" $key (include "multicloud-controller-manager.gcfg.scalar" (dict "value" (join "," $items) "path" $path)) }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
One value. Numbers of values files are floating-point numbers, which hold integers up to 2^53.
*/}}
{{- define "multicloud-controller-manager.gcfg.scalar" -}}
{{- if kindIs "bool" .value -}}
{{ .value }}
{{- else if or (kindIs "int" .value) (kindIs "int64" .value) (typeIs "json.Number" .value) -}}
{{ .value }}
{{- else if kindIs "float64" .value -}}
{{- if or (ge .value 9007199254740992.0) (le .value -9007199254740992.0) -}}
{{- fail (printf "%s is a number with more digits than values keep: put it in quotes" .path) -}}
{{- end -}}
{{- if eq .value (float64 (int64 .value)) }}{{ int64 .value }}{{ else }}{{ .value }}{{ end -}}
{{- else if kindIs "string" .value -}}
{{- include "multicloud-controller-manager.gcfg.checkText" (dict "text" .value "path" .path "pattern" "[\\x00-\\x08\\x0b-\\x1f\\x{FEFF}]") -}}
"{{ .value | replace "\\" "\\\\" | replace "\"" "\\\"" | replace "\n" "\\n" | replace "\t" "\\t" }}"
{{- else -}}
{{- fail (printf "%s must be a plain value or a list of plain values" .path) -}}
{{- end -}}
{{- end -}}

{{- define "multicloud-controller-manager.gcfg.checkName" -}}
{{- if not (regexMatch "^[A-Za-z][A-Za-z0-9-]*$" .name) -}}
{{- fail (printf "%s: a name in a cloud-config begins with a letter and has only letters, digits and hyphens" .path) -}}
{{- end -}}
{{- end -}}

{{- define "multicloud-controller-manager.gcfg.checkText" -}}
{{- if regexMatch .pattern .text -}}
{{- fail (printf "%s has a control character that a cloud-config cannot have: remove it" .path) -}}
{{- end -}}
{{- end -}}
