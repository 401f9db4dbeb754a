{{- define "millrace.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}{{ .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}{{ printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "millrace.selector" -}}
{{ include "millrace.release" . }}
app.kubernetes.io/component: control-plane
{{- end -}}

{{- define "millrace.release" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Pods that host a service: those of its own, or the one that hosts all. */}}
{{- define "millrace.hosts" -}}
{{- if .root.Values.parts.enabled -}}
{{ include "millrace.release" .root }}
app.kubernetes.io/component: {{ .service }}
{{- else -}}
{{ include "millrace.selector" .root }}
{{- end -}}
{{- end -}}

{{- define "millrace.labels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "millrace.account" -}}
{{- if .Values.serviceAccount.create -}}{{ default (include "millrace.fullname" .) .Values.serviceAccount.name }}
{{- else -}}{{ default "default" .Values.serviceAccount.name }}{{- end -}}
{{- end -}}

{{- define "millrace.image" -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}

{{/* Where people reach the dashboard. */}}
{{- define "millrace.url" -}}
{{- if .Values.identity.url -}}{{ .Values.identity.url }}
{{- else if .Values.ingress.enabled -}}https://{{ .Values.ingress.host }}
{{- else if .Values.gateway.enabled -}}https://{{ .Values.gateway.host }}
{{- else -}}{{ ternary "https" "http" .Values.parts.enabled }}://localhost:8080{{- end -}}
{{- end -}}

{{/* Where pods of the release reach the dashboard. */}}
{{- define "millrace.server" -}}
{{ ternary "https" "http" .Values.parts.enabled }}://{{ include "millrace.fullname" . }}:{{ int .Values.dashboard.service.port }}
{{- end -}}

{{/* What every container may do: nothing. */}}
{{- define "millrace.container" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- define "millrace.pod" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{/* Migrations of the tables run before the port is open: ten minutes. The process ends by itself where a part of it has
     ended; what hangs does not. Ready is whose etcd and bus do their work. */}}
{{- define "millrace.probes" -}}
{{- $scheme := ternary "HTTPS" "HTTP" .root.Values.parts.enabled -}}
startupProbe:
  httpGet: {path: /healthz, port: http, scheme: {{ $scheme }}}
  periodSeconds: 2
  failureThreshold: 300
livenessProbe:
  httpGet: {path: /healthz, port: http, scheme: {{ $scheme }}}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  {{- if eq (default "" .service) "flow" }}
  # The collector holds flows while etcd or the bus are away; it gets no more when it stops.
  httpGet: {path: "/readyz?exclude=etcd&exclude=bus", port: http, scheme: {{ $scheme }}}
  {{- else }}
  httpGet: {path: /readyz, port: http, scheme: {{ $scheme }}}
  {{- end }}
  periodSeconds: 5
  timeoutSeconds: 4
  failureThreshold: 2
{{- end -}}

{{- define "millrace.scheduling" -}}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{/* Who reaches the dashboard's port: the release's own jobs, and whom values name. Without a name: its namespace, or where
     an Ingress or a Gateway stands in front of it, whose pods are in another one. Empty, which is everybody, where its
     service is for people outside of the cluster. */}}
{{- define "millrace.dashboardFrom" -}}
{{- $from := .Values.networkPolicy.dashboardFrom -}}
{{- if or $from (eq .Values.dashboard.service.type "ClusterIP") -}}
- podSelector: {matchLabels: {{ include "millrace.release" . | fromYaml | toJson }}}
{{- if $from }}
{{ toYaml $from }}
{{- else if or .Values.ingress.enabled .Values.gateway.enabled }}
- namespaceSelector: {}
{{- else }}
- podSelector: {}
{{- end }}
{{- with .Values.networkPolicy.metricsFrom }}
{{ toYaml . }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* The process reads its configuration once: another one is another pod. */}}
{{- define "millrace.checksum" -}}
{{ printf "%s\n%s\n%s" (include "millrace.config" .) (include "millrace.inventory" .) (toYaml .Values.policies) | sha256sum }}
{{- end -}}

{{- define "millrace.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Files beside millrace.yaml: of the pod, or the service, and of the job that checks them. A key lies where it is used. */}}
{{- define "millrace.files" -}}
{{- $v := .root.Values -}}
{{- $service := default "" .service -}}
{{- if $v.policies }}
- {name: policies, folder: /etc/millrace-policies, configMap: {{ .policies }}}
{{- end }}
{{- if and $v.inventoryTLSSecret (has $service (list "" "push" "telemetry" "topology" "vpn")) }}
- {name: tls, folder: /etc/millrace-tls, secret: {{ $v.inventoryTLSSecret }}}
{{- end }}
{{- if $v.etcd.tlsSecret }}
- {name: etcd, folder: /etc/millrace-etcd, secret: {{ $v.etcd.tlsSecret }}}
{{- end }}
{{- if $v.etcd.passwordSecret }}
- {name: etcd-password, folder: /etc/millrace-etcd-password, secret: {{ $v.etcd.passwordSecret }}}
{{- end }}
{{- if $v.kafka.tlsSecret }}
- {name: kafka, folder: /etc/millrace-kafka, secret: {{ $v.kafka.tlsSecret }}}
{{- end }}
{{- if $v.kafka.passwordSecret }}
- {name: kafka-password, folder: /etc/millrace-kafka-password, secret: {{ $v.kafka.passwordSecret }}}
{{- end }}
{{- if and $v.clickhouse.passwordSecret (has $service (list "" "flowstore")) }}
- {name: clickhouse, folder: /etc/millrace-clickhouse, secret: {{ $v.clickhouse.passwordSecret }}}
{{- end }}
{{- range $i, $of := $v.secrets }}
{{- if or (not $service) (not $of.services) (has $service $of.services) }}
- {name: secret-{{ $i }}, folder: /etc/millrace-secrets/{{ $of.name }}, secret: {{ $of.name }}}
{{- end }}
{{- end }}
{{- end -}}

{{- define "millrace.mounts" -}}
{{- range include "millrace.files" . | fromYamlArray }}
- {name: {{ .name }}, mountPath: {{ .folder }}, readOnly: true}
{{- end }}
{{- end -}}

{{- define "millrace.volumes" -}}
{{- range include "millrace.files" . | fromYamlArray }}
- name: {{ .name }}
{{- if .configMap }}
  configMap: {name: {{ .configMap }}}
{{- else }}
  secret: {secretName: {{ .secret }}, defaultMode: 0440}
{{- end }}
{{- end }}
{{- end -}}

{{/* Files of TLS towards a server, which demands a certificate or does not. */}}
{{- define "millrace.tls" -}}
ca: {{ .folder }}/ca.crt
{{- if .cert }}
cert: {{ .folder }}/tls.crt
key: {{ .folder }}/tls.key
{{- end }}
{{- end -}}

{{/* millrace.yaml: what the chart decides, then the operator's own keys over it. */}}
{{- define "millrace.config" -}}
{{- $name := include "millrace.fullname" . -}}
{{- $space := printf "%s.%s" $name .Release.Namespace -}}
{{- $hosts := list $name $space (printf "%s.svc" $space) (printf "%s.svc.cluster.local" $space) -}}
{{- range list .Values.ingress .Values.gateway }}{{ if .enabled }}{{ $hosts = append $hosts .host }}{{ end }}{{ end -}}
{{- $config := dict "data_dir" "/var/lib/millrace" "inventory" "inventory.yaml" "installation" (printf "%s.%s" $name .Release.Namespace) -}}
{{- $_ := set $config "dashboard" (dict "listen" "[::]:8080" "allow_remote" true "hosts" (concat $hosts .Values.dashboard.hosts)) -}}
{{- $_ := set $config "identity" (dict "mode" .Values.identity.mode "url" (include "millrace.url" .)) -}}
{{- $flow := dict "listen" (list "[::]:2055") -}}
{{- if .Values.flow.acceptUnlisted }}{{ $_ := set $flow "exporters" (dict "accept_unlisted" true) }}{{ end -}}
{{- with .Values.flow.fireflies.sources }}{{ $_ := set $flow "fireflies" (dict "listen" (list "[::]:10514") "sources" .) }}{{ end -}}
{{- $_ := set $config "flow" $flow -}}
{{- $_ := set $config "alpha" (dict "nightly_at" (ternary .Values.nightly.at "" (eq .Values.nightly.mode "builtin"))) -}}
{{- if .Values.policies }}{{ $_ := set $config "policy" (dict "dir" "/etc/millrace-policies") }}{{ end -}}
{{- if .Values.etcd.endpoints -}}
{{- $etcd := dict "endpoints" .Values.etcd.endpoints -}}
{{- if .Values.etcd.tlsSecret }}{{ $etcd = merge $etcd (include "millrace.tls" (dict "folder" "/etc/millrace-etcd" "cert" .Values.etcd.clientCertificate) | fromYaml) }}{{ end -}}
{{- if .Values.etcd.username }}{{ $etcd = merge $etcd (dict "username" .Values.etcd.username "password_file" "/etc/millrace-etcd-password/password") }}{{ end -}}
{{- $_ := set $config "etcd" $etcd -}}
{{- end -}}
{{- if .Values.kafka.brokers -}}
{{- $kafka := dict "brokers" .Values.kafka.brokers -}}
{{- if .Values.kafka.prefix }}{{ $_ := set $kafka "prefix" .Values.kafka.prefix }}{{ end -}}
{{- if .Values.kafka.tlsSecret }}{{ $_ := set $kafka "tls" (include "millrace.tls" (dict "folder" "/etc/millrace-kafka" "cert" .Values.kafka.clientCertificate) | fromYaml) }}{{ end -}}
{{- if .Values.kafka.username }}{{ $_ := set $kafka "sasl" (dict "mechanism" .Values.kafka.mechanism "username" .Values.kafka.username "password_file" "/etc/millrace-kafka-password/password") }}{{ end -}}
{{- $_ := set $config "kafka" $kafka -}}
{{- end -}}
{{- $store := dict "max_memory" (int64 .Values.clickhouse.maxMemory) "max_server_memory" (int64 .Values.clickhouse.maxServerMemory) -}}
{{- if .Values.clickhouse.servers -}}
{{- if and (gt (len .Values.clickhouse.servers) 1) (not .Values.clickhouse.cluster) }}{{ fail "several clickhouse.servers need clickhouse.cluster: without it each would have a part of the data" }}{{ end -}}
{{- $store = dict "servers" .Values.clickhouse.servers "database" .Values.clickhouse.database "username" .Values.clickhouse.username "tls" .Values.clickhouse.tls -}}
{{- if .Values.clickhouse.cluster }}{{ $_ := set $store "cluster" .Values.clickhouse.cluster }}{{ end -}}
{{- if .Values.clickhouse.passwordSecret }}{{ $_ := set $store "password_file" "/etc/millrace-clickhouse/password" }}{{ end -}}
{{- end -}}
{{- $_ := set $config "flowstore" (dict "store" $store) -}}
{{- if .Values.parts.enabled -}}
{{- $endpoints := dict "dashboard" (include "millrace.server" .) -}}
{{- range without (include "millrace.services" . | fromJsonArray) "dashboard" }}{{ $_ := set $endpoints . (printf "https://%s-%s:8080" $name .) }}{{ end -}}
{{- $config = merge $config (dict "tls" (dict "folder" "/etc/millrace-parts") "endpoints" $endpoints) -}}
{{- end -}}
{{- toYaml (mergeOverwrite $config (deepCopy .Values.config)) -}}
{{- end -}}

{{/* inventory.yaml, with the secret's files where it names none. */}}
{{- define "millrace.inventory" -}}
{{- $files := dict "ca" "/etc/millrace-tls/ca.crt" "cert" "/etc/millrace-tls/tls.crt" "key" "/etc/millrace-tls/tls.key" -}}
{{- $inventory := deepCopy .Values.inventory -}}
{{- if .Values.inventoryTLSSecret }}{{ $inventory = merge $inventory (dict "tls" $files) }}{{ end -}}
{{- toYaml $inventory -}}
{{- end -}}

{{/* Octets of 2Gi, 2G or a number, which a file of values has as a float. */}}
{{- define "millrace.octets" -}}
{{- $text := ternary (toString .) (printf "%.0f" .) (not (kindIs "float64" .)) -}}
{{- $units := dict "" 1 "k" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- $unit := regexReplaceAll "^[0-9.]+" $text "" -}}
{{- if not (hasKey $units $unit) }}{{ fail (printf "%v is no amount of memory; write one such as 6Gi" .) }}{{ end -}}
{{- mulf (regexFind "^[0-9.]+" $text | float64) (get $units $unit) | int64 -}}
{{- end -}}

{{/* Of the release's name most of 63 octets is left, and less where Kubernetes makes longer names of it: the jobs of a
     CronJob have 11 octets more, and the pods of a StatefulSet a label with its name and 11 more. */}}
{{- define "millrace.checkName" -}}
{{- $name := include "millrace.fullname" . -}}
{{- $names := dict -}}
{{- if eq .Values.nightly.mode "cronjob" }}{{ $_ := set $names "nightly" "a CronJob" }}{{ end -}}
{{- if .Values.parts.enabled }}
{{- range $service := include "millrace.services" . | fromJsonArray }}
{{- if include "millrace.keeps" (dict "root" $ "service" $service) }}{{ $_ := set $names $service "a StatefulSet" }}{{ end }}
{{- end }}
{{- end }}
{{- range $what, $kind := $names }}
{{- $most := sub 51 (len $what) | int }}
{{- if gt (len $name) $most }}
{{- fail (printf "the name %s has %d characters, and may have %d: Kubernetes makes nothing of %s whose name, %s-%s, is longer than 52. Set fullnameOverride to a shorter one" $name (len $name) $most $kind $name $what) }}
{{- end }}
{{- end }}
{{- end -}}

{{/* What cannot work is said before anything is made. */}}
{{- define "millrace.check" -}}
{{- if and .Values.inventory.devices (not .Values.inventoryTLSSecret) (not .Values.inventory.tls) }}
{{- fail "inventory.devices needs inventoryTLSSecret: routers are spoken to over mutual TLS only. Make a secret with ca.crt, tls.crt and tls.key, such as cert-manager's, and name it" }}
{{- end }}
{{- if and (eq .Values.nightly.mode "cronjob") (eq .Values.identity.mode "on") (not .Values.nightly.tokenSecret) }}
{{- fail "nightly.mode cronjob needs nightly.tokenSecret: with identity.mode on the job logs in by a token of the role operator (millrace tokens create). Install with nightly.mode builtin first, make the token, then upgrade" }}
{{- end }}
{{- if and .Values.monitoring.serviceMonitor (eq .Values.identity.mode "on") (not .Values.monitoring.tokenSecret) (not .Values.parts.enabled) }}
{{- fail "monitoring.serviceMonitor needs monitoring.tokenSecret: with identity.mode on /metrics asks for a token of the role viewer (millrace tokens create)" }}
{{- end }}
{{- if and .Values.monitoring.serviceMonitor (not (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1/ServiceMonitor")) }}
{{- fail "monitoring.serviceMonitor: this cluster has no kind ServiceMonitor; install the Prometheus operator first, or set it to false" }}
{{- end }}
{{- if and .Values.monitoring.prometheusRule (not (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1/PrometheusRule")) }}
{{- fail "monitoring.prometheusRule: this cluster has no kind PrometheusRule; install the Prometheus operator first, or set it to false" }}
{{- end }}
{{- if and .Values.gateway.enabled (not (.Capabilities.APIVersions.Has "gateway.networking.k8s.io/v1/HTTPRoute")) }}
{{- fail "gateway.enabled: this cluster has no kind HTTPRoute; install the Gateway API first, or set it to false" }}
{{- end }}
{{- range list (list "etcd" .Values.etcd .Values.etcd.endpoints) (list "kafka" .Values.kafka .Values.kafka.brokers) }}
{{- $name := index . 0 }}{{ $of := index . 1 }}{{ $there := index . 2 }}
{{- if ne (empty $of.username) (empty $of.passwordSecret) }}
{{- fail (printf "%s.username and %s.passwordSecret: set both or neither" $name $name) }}
{{- end }}
{{- if and (not $there) (or $of.username $of.tlsSecret) }}
{{- fail (printf "%s.tlsSecret and %s.username are for servers, and none is named: set %s" $name $name (ternary "etcd.endpoints" "kafka.brokers" (eq $name "etcd"))) }}
{{- end }}
{{- end }}
{{- if and .Values.kafka.brokers (not .Values.kafka.tlsSecret) (not (dig "kafka" "allow_plaintext" false .Values.config)) }}
{{- fail "kafka.brokers needs kafka.tlsSecret: a host on the way could read and write every message. Make a secret with ca.crt, and name it" }}
{{- end }}
{{- if and .Values.ingress.enabled (or (not .Values.ingress.host) (not .Values.ingress.tlsSecret)) }}
{{- fail "ingress.enabled needs ingress.host and ingress.tlsSecret: logins must not cross the network in plain text" }}
{{- end }}
{{- if and .Values.gateway.enabled (or (not .Values.gateway.host) (not .Values.gateway.parentRefs)) }}
{{- fail "gateway.enabled needs gateway.host and gateway.parentRefs" }}
{{- end }}
{{- range $of := .Values.secrets }}
{{- range $of.services }}
{{- if not (has . (include "millrace.services" $ | fromJsonArray)) }}{{ fail (printf "secrets: %s is for the service %s, and there is no such service; there are %s" $of.name . (include "millrace.services" $ | fromJsonArray | join ", ")) }}{{ end }}
{{- end }}
{{- end }}
{{- include "millrace.checkName" . }}
{{- include "millrace.checkParts" . }}
{{- include "millrace.checkAgents" . }}
{{- with ternary "" (dig "limits" "memory" "" .Values.resources) .Values.parts.enabled }}
{{- $go := default (ternary "3043MiB" "2463MiB" (gt (len $.Values.kafka.brokers) 0)) $.Values.goMemLimit }}
{{- $engine := ternary 0 (int64 $.Values.clickhouse.maxServerMemory) (gt (len $.Values.clickhouse.servers) 0) }}
{{- if lt (include "millrace.octets" . | int64) (add $engine (include "millrace.octets" (trimSuffix "B" $go) | int64)) }}
{{- fail (printf "resources.limits.memory is %v, and the pod may need more: Go has up to %v (goMemLimit), and the engine %d octets (clickhouse.maxServerMemory). Give it more, or lower these" . $go $engine) }}
{{- end }}
{{- end }}
{{- $volumes := or (not .Values.parts.enabled) (include "millrace.volumesOfParts" .) }}
{{- if and $volumes .Values.persistence.enabled (not .Values.persistence.storageClass) (not .Values.persistence.existingClaim) (lookup "v1" "Namespace" "" "kube-system") }}
{{- $default := false }}
{{- range (lookup "storage.k8s.io/v1" "StorageClass" "" "").items }}
{{- if eq (dig "metadata" "annotations" "storageclass.kubernetes.io/is-default-class" "" .) "true" }}{{ $default = true }}{{ end }}
{{- end }}
{{- if not $default }}
{{- fail "persistence: this cluster has no default StorageClass. Name one with persistence.storageClass, a claim with persistence.existingClaim, or set persistence.enabled=false for a trial whose data go with the pod" }}
{{- end }}
{{- end }}
{{- end -}}
