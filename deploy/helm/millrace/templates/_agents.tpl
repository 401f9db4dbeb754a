{{/* What differs between the two agents: the command, the port of the loopback that probes ask, and the state's folder. */}}
{{- define "millrace.agents" -}}
router: {command: agent, port: 9340, alive: {tcpSocket: {host: 127.0.0.1, port: 9340}}, state: /var/lib/millrace-agent}
pe: {command: pe, port: 4756, alive: {httpGet: {host: 127.0.0.1, path: /healthz, port: 4756}}, state: /var/lib/millrace-pe-agent}
{{- end -}}

{{/* An agent's configuration on one node: what the chart decides, then what the operator has for all nodes, then for this one. */}}
{{- define "millrace.agentConfig" -}}
{{- $folder := "/etc/millrace/tls" -}}
{{- $config := dict -}}
{{- if eq .kind "router" -}}
{{- $config = dict "name" .node "tls" (dict "cert" (printf "%s/tls.crt" $folder) "key" (printf "%s/tls.key" $folder) "ca" (printf "%s/ca.crt" $folder)) "data_dir" .state "metrics" "127.0.0.1:9340" -}}
{{- else -}}
{{- $config = dict "keys" "/etc/millrace/keys/pe.keys" "listen" "127.0.0.1:4756" "state" (printf "%s/pe-weights.json" .state) "control" (dict "cert" (printf "%s/tls.crt" $folder) "key" (printf "%s/tls.key" $folder) "ca" (printf "%s/ca.crt" $folder)) -}}
{{- end -}}
{{- toYaml (mergeOverwrite $config (deepCopy .of.config) (deepCopy (get .of.nodes .node))) -}}
{{- end -}}

{{/* What an agent cannot start with is said before anything is made. */}}
{{- define "millrace.checkAgents" -}}
{{- $v := .Values.agents -}}
{{- $agents := include "millrace.agents" . | fromYaml -}}
{{- range $kind := list "router" "pe" }}
{{- $of := get $v $kind }}
{{- if and $of.nodes (or (not $v.image) (not $v.groups)) }}
{{- fail (printf "agents.%s.nodes needs agents.image, an image with vtysh of the FRR that runs on the nodes, and agents.groups, the number of its group frrvty (getent group frrvty)" $kind) }}
{{- end }}
{{- range $node, $own := $of.nodes }}
{{- $config := include "millrace.agentConfig" (merge (dict "kind" $kind "of" $of "node" $node) (get $agents $kind)) | fromYaml }}
{{- if eq $kind "router" }}
{{- if not $config.listen }}
{{- fail (printf "agents.router.nodes.%s needs listen, the node's management address, such as 192.0.2.11:9339" $node) }}
{{- end }}
{{- if not (or $config.roles $config.unit_roles $config.users) }}
{{- fail (printf "agents.router.nodes.%s has no roles: nobody could configure the router. Name the control plane's certificate, such as agents.router.config.roles.controller=operator" $node) }}
{{- end }}
{{- if ne $config.metrics "127.0.0.1:9340" }}
{{- fail (printf "agents.router.nodes.%s has metrics at %v: the probes ask 127.0.0.1:9340" $node $config.metrics) }}
{{- end }}
{{- with dig "limits" "memory" "" $of.resources }}
{{- if lt (include "millrace.octets" . | int64) (mul 2 (int64 (default 1073741824 $config.memory))) }}
{{- fail (printf "agents.router.resources.limits.memory is %v, and the agent may need twice its memory, which is %.0f octets. Give it more, or lower memory" . (default 1073741824 $config.memory | float64)) }}
{{- end }}
{{- end }}
{{- else if ne $config.listen "127.0.0.1:4756" }}
{{- fail (printf "agents.pe.nodes.%s has listen at %v: the probes ask 127.0.0.1:4756" $node $config.listen) }}
{{- else if not $v.pe.keysSecret }}
{{- fail "agents.pe.nodes needs agents.pe.keysSecret: the PEs' management packets are protected by keys that they share. Make a secret with pe.keys" }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
