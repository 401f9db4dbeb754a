package store

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	comments    = `(?s)^((?:\s|--[^\n]*\n)*`
	createTable = regexp.MustCompile(comments + `CREATE TABLE (?:IF NOT EXISTS )?)(\w+)(.*)$`)
	dropTable   = regexp.MustCompile(comments + `DROP TABLE (?:IF EXISTS )?)(\w+)\s*$`)
	// setting of a table is one server's, replicated or not.
	setting   = regexp.MustCompile(comments + `ALTER TABLE )(\w+)( MODIFY SETTING .*)$`)
	mergeTree = regexp.MustCompile(`ENGINE = (\w*MergeTree)(?:\(([^)]*)\))?`)
	// otherwise is what would have an effect on one server of a cluster only. No other ALTER TABLE is of it: a
	// replicated table brings it to its replicas itself, also to one that is away.
	otherwise = regexp.MustCompile(`(?i)` + comments + `)(CREATE|DROP|RENAME|TRUNCATE|ATTACH|DETACH|EXCHANGE)\s`)
)

// OnCluster is a statement as the servers of a cluster take it: tables are made, set and dropped on all of them, and
// each server has a replica. All other statements stay as they are.
//
// The path is written out, so that a server that lost its disk finds the data of the others by the same statement;
// shard and replica are macros of the server.
func OnCluster(sql, cluster, database string) (string, error) {
	if m := createTable.FindStringSubmatch(sql); m != nil {
		engine := mergeTree.FindStringSubmatchIndex(m[3])
		if engine == nil {
			return "", fmt.Errorf("table %s has no engine of the MergeTree family: its rows would be on one server of the cluster", m[2])
		}
		kind, arguments := m[3][engine[2]:engine[3]], ""
		if engine[4] >= 0 {
			arguments = ", " + m[3][engine[4]:engine[5]]
		}
		return fmt.Sprintf("%s%s ON CLUSTER '%s'%sENGINE = Replicated%s('/clickhouse/tables/{shard}/%s/%[2]s', '{replica}'%[7]s)%[8]s",
			m[1], m[2], cluster, m[3][:engine[0]], kind, database, arguments, m[3][engine[1]:]), nil
	}
	if m := dropTable.FindStringSubmatch(sql); m != nil {
		// SYNC: without it the path is free only after minutes, and the same table cannot be made until then.
		return fmt.Sprintf("%s%s ON CLUSTER '%s' SYNC", m[1], m[2], cluster), nil
	}
	if m := setting.FindStringSubmatch(sql); m != nil {
		return fmt.Sprintf("%s%s ON CLUSTER '%s'%s", m[1], m[2], cluster, m[3]), nil
	}
	if m := otherwise.FindStringSubmatch(sql); m != nil {
		return "", fmt.Errorf("no form of this statement for a cluster is known: %s", strings.TrimSpace(sql))
	}
	return sql, nil
}
