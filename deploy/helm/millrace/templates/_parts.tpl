{{/* Services that have pods of their own: all but nsi, whose port is not one of the chart's. */}}
{{- define "millrace.services" -}}
["alpha","audit","circuits","dashboard","flow","flowstore","identity","paths","policy","push","split","telemetry","topology","twin","vpn"]
{{- end -}}

{{/* The service's objects: the dashboard has the release's own name, because people type it. */}}
{{- define "millrace.part" -}}
{{- $name := include "millrace.fullname" .root -}}
{{ ternary $name (printf "%s-%s" $name .service) (eq .service "dashboard") }}
{{- end -}}

{{- define "millrace.partSecret" -}}
{{ default (printf "%s-tls" (include "millrace.fullname" .root)) .root.Values.parts.tlsSecret }}-{{ .service }}
{{- end -}}

{{/* Services whose pods keep something on a volume. Not empty where there is one. */}}
{{- define "millrace.keeps" -}}
{{- if and .root.Values.persistence.enabled (or (eq .service "flow") (and (eq .service "flowstore") (not .root.Values.clickhouse.servers))) -}}yes{{- end -}}
{{- end -}}

{{- define "millrace.volumesOfParts" -}}
{{- $root := . -}}
{{- range include "millrace.services" . | fromJsonArray }}{{ include "millrace.keeps" (dict "root" $root "service" .) }}{{ end -}}
{{- end -}}

{{- define "millrace.partResources" -}}
{{- toYaml (default .root.Values.parts.resources (get .root.Values.parts.resourcesOf .service)) -}}
{{- end -}}

{{/* MiB that Go takes at most in a process of one service beside Kafka, and what others take. */}}
{{- define "millrace.memoryOfParts" -}}
{"alpha":1710,"flow":2315,"flowstore":2260,"others":1620}
{{- end -}}

{{/* Of a rolling upgrade the next pods are spread among themselves, or two of them would come to the node that had one. */}}
{{- define "millrace.spread" -}}
{{- $labels := include "millrace.hosts" . -}}
{{- range default (list (dict "topologyKey" "kubernetes.io/hostname") (dict "topologyKey" "topology.kubernetes.io/zone")) .root.Values.parts.topologySpread }}
- {{ toYaml (merge (deepCopy .) (dict "maxSkew" 1 "whenUnsatisfiable" "ScheduleAnyway" "matchLabelKeys" (list "pod-template-hash" "controller-revision-hash") "labelSelector" (dict "matchLabels" (fromYaml $labels)))) | indent 2 | trim }}
{{- end }}
{{- end -}}

{{/* What a program of the release needs to trust the dashboard's certificate. */}}
{{- define "millrace.trustEnv" -}}
{{- if .Values.parts.enabled -}}
- {name: SSL_CERT_FILE, value: /etc/millrace-ca/ca.crt}
{{- end -}}
{{- end -}}

{{- define "millrace.trustMount" -}}
{{- if .Values.parts.enabled -}}
volumeMounts:
  - {name: ca, mountPath: /etc/millrace-ca, readOnly: true}
{{- end -}}
{{- end -}}

{{- define "millrace.trustVolume" -}}
{{- if .Values.parts.enabled -}}
volumes:
  - name: ca
    secret:
      secretName: {{ include "millrace.partSecret" (dict "root" . "service" "dashboard") }}
      items: [{key: ca.crt, path: ca.crt}]
{{- end -}}
{{- end -}}

{{/* What cannot work with parts is said before anything is made. */}}
{{- define "millrace.checkParts" -}}
{{- $v := .Values -}}
{{- $services := include "millrace.services" . | fromJsonArray -}}
{{- if $v.parts.enabled }}
{{- if or (not $v.etcd.endpoints) (not $v.kafka.brokers) }}
{{- fail "parts.enabled needs etcd.endpoints and kafka.brokers: services in pods of their own share state and messages" }}
{{- end }}
{{- if eq (empty $v.parts.tlsSecret) (empty $v.parts.issuer) }}
{{- fail "parts.enabled needs parts.tlsSecret or parts.issuer, and not both: services speak mutual TLS. Make the secrets by `millrace ca issue`, or name an issuer of cert-manager" }}
{{- end }}
{{- if and $v.parts.issuer (not (.Capabilities.APIVersions.Has "cert-manager.io/v1/Certificate")) }}
{{- fail "parts.issuer: this cluster has no kind Certificate; install cert-manager first, or name secrets by parts.tlsSecret" }}
{{- end }}
{{- if lt (int $v.terminationGracePeriodSeconds) 30 }}
{{- fail (printf "terminationGracePeriodSeconds is %v: with parts.enabled a process goes on for 15 s after SIGTERM. Give it 30 or more" $v.terminationGracePeriodSeconds) }}
{{- end }}
{{- if $v.persistence.existingClaim }}
{{- fail "persistence.existingClaim is of the one pod that hosts everything: leave it empty with parts.enabled" }}
{{- end }}
{{- if dig "nsi" "listen" "" $v.config }}
{{- fail "config.nsi.listen with parts.enabled: the chart has no pod for the NSI provider; run `millrace serve nsi` beside it, with the release's `installation`" }}
{{- end }}
{{- range $service := $services }}
{{- $of := include "millrace.memoryOfParts" $ | fromJson }}
{{- $needs := default $of.others (get $of $service) | int64 }}
{{- if and (eq $service "flowstore") (not $v.clickhouse.servers) }}{{ $needs = add $needs (div (int64 $v.clickhouse.maxServerMemory) 1048576) }}{{ end }}
{{- with dig "limits" "memory" "" (include "millrace.partResources" (dict "root" $ "service" $service) | fromYaml) }}
{{- if lt (include "millrace.octets" . | int64) (mul $needs 1048576) }}
{{- fail (printf "the limit of memory of %s is %v, and the pod may need %d MiB. Give it more in parts.resources or parts.resourcesOf.%s" $service . $needs $service) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $key := list "replicas" "resourcesOf" "autoscaling" }}
{{- range $service, $_ := get $v.parts $key }}
{{- if not (has $service $services) }}{{ fail (printf "parts.%s.%s: there is no such service; there are %s" $key $service (join ", " $services)) }}{{ end }}
{{- end }}
{{- end }}
{{- if and (not $v.clickhouse.servers) (or (get $v.parts.autoscaling "flowstore") (gt (int (default 1 (get $v.parts.replicas "flowstore"))) 1)) }}
{{- fail "several pods of flowstore need clickhouse.servers: an engine inside the pod holds data of its own" }}
{{- end }}
{{- else if or $v.parts.tlsSecret $v.parts.issuer $v.parts.replicas $v.parts.autoscaling }}
{{- fail "parts.enabled is false, and parts has further values: set it, or leave them out" }}
{{- end }}
{{- end -}}
