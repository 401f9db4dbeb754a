{{/* What differs between the two agents: the command, the port that probes ask, and the state's folder. */}}
{{- define "millrace.agents" -}}
router: {command: agent, port: 9340, state: /var/lib/millrace-agent}
pe: {command: pe, port: 4756, state: /var/lib/millrace-pe-agent}
{{- end -}}

{{/* An agent's configuration on one node: what the operator has for all nodes, then for this one, over what the chart decides. */}}
{{- define "millrace.agentConfig" -}}
{{- $tls := dict "cert" "/etc/millrace/tls/tls.crt" "key" "/etc/millrace/tls/tls.key" "ca" "/etc/millrace/tls/ca.crt" -}}
{{- $config := dict -}}
{{- if eq .kind "router" -}}
{{- $config = dict "name" .node "tls" $tls "data_dir" .state "metrics" (printf "127.0.0.1:%v" .port) -}}
{{- else -}}
{{- $config = dict "keys" "/etc/millrace/keys/pe.keys" "listen" (printf "127.0.0.1:%v" .port) "state" (printf "%s/pe-weights.json" .state) "control" $tls -}}
{{- end -}}
{{- toYaml (mergeOverwrite $config (deepCopy .of.config) (deepCopy (get .of.nodes .node))) -}}
{{- end -}}

{{/* Files of the job that checks configurations: those of the agents, by kind and node. */}}
{{- define "millrace.agentFiles" -}}
{{- $agents := include "millrace.agents" . | fromYaml -}}
{{- range $kind, $agent := $agents }}
{{- $of := get $.Values.agents $kind }}
{{- range $node, $_ := $of.nodes }}
{{ $kind }}-{{ $node }}.yaml: |
  {{- include "millrace.agentConfig" (merge (dict "kind" $kind "of" $of "node" $node) $agent) | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* What an agent cannot start with is said before anything is made. */}}
{{- define "millrace.checkAgents" -}}
{{- $v := .Values.agents -}}
{{- range $kind, $agent := include "millrace.agents" . | fromYaml }}
{{- $of := get $v $kind }}
{{- if and $of.nodes (or (not $v.image) (not $v.groups)) }}
{{- fail (printf "agents.%s.nodes needs agents.image, an image with vtysh of the FRR that runs on the nodes, and agents.groups, the number of its group frrvty (getent group frrvty)" $kind) }}
{{- end }}
{{- range $node, $own := $of.nodes }}
{{- $at := printf "agents.%s.nodes.%s" $kind $node }}
{{- range $key := ternary (list "data_dir") (list "keys" "state" "pins") (eq $kind "router") }}
{{- if or (hasKey $of.config $key) (hasKey $own $key) }}
{{- fail (printf "%s has %s: the chart says where that lies" $at $key) }}
{{- end }}
{{- end }}
{{- $config := include "millrace.agentConfig" (merge (dict "kind" $kind "of" $of "node" $node) $agent) | fromYaml }}
{{- if eq $kind "pe" }}
{{- if ne $config.listen "127.0.0.1:4756" }}
{{- fail (printf "%s has listen at %v: the probes ask 127.0.0.1:4756" $at $config.listen) }}
{{- end }}
{{- if not $v.pe.keysSecret }}
{{- fail "agents.pe.nodes needs agents.pe.keysSecret: the PEs' management packets are protected by keys that they share. Make a secret with pe.keys" }}
{{- end }}
{{- else }}
{{- if not $config.listen }}
{{- fail (printf "%s needs listen, the node's management address, such as 192.0.2.11:9339" $at) }}
{{- end }}
{{- if not (or $config.roles $config.unit_roles $config.users) }}
{{- fail (printf "%s has no roles: nobody could configure the router. Name the control plane's certificate, such as agents.router.config.roles.controller=operator" $at) }}
{{- end }}
{{- if eq (default "" $config.frr_instance) "none" }}
{{- fail (printf "%s has frr_instance none: the chart is for routers with FRR. Others have the package" $at) }}
{{- end }}
{{- if not (regexMatch `^(127\.0\.0\.1|0\.0\.0\.0|\[::\]|):9340$` $config.metrics) }}
{{- fail (printf "%s has metrics at %v: the probes ask port 9340 of 127.0.0.1, which 0.0.0.0:9340 is too" $at $config.metrics) }}
{{- end }}
{{- with dig "limits" "memory" "" $of.resources }}
{{- $memory := default 1073741824 $config.memory | int64 }}
{{- if lt (include "millrace.octets" . | int64) (mul 2 $memory) }}
{{- fail (printf "agents.router.resources.limits.memory is %v, and the agent of %s may need twice its memory, which is %d octets. Give it more, or lower memory" . $node $memory) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
