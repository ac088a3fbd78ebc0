package tasks

import (
	"slices"
	"strings"
)

// Keys of Harbor's task.toml, schema 1.4. A key that is neither here nor ours is
// kept and warned about, as Harbor's own readers do. "*" is any key below a table.
var harborKeys = []string{
	"schema_version", "version", "source", "artifacts", "multi_step_reward_strategy",
	"task.name", "task.description", "task.authors", "task.keywords", "task.version",
	"metadata.*",
	"agent.timeout_sec", "agent.user", "agent.network_mode", "agent.allowed_hosts",
	"verifier.timeout_sec", "verifier.user", "verifier.network_mode", "verifier.allowed_hosts",
	"verifier.env", "verifier.environment_mode", "verifier.environment", "verifier.collect",
	"solution.env",
	"environment.build_timeout_sec", "environment.docker_image", "environment.os",
	"environment.cpus", "environment.memory_mb", "environment.storage_mb", "environment.gpus",
	"environment.memory", "environment.storage", "environment.gpu_types", "environment.tpu",
	"environment.network_mode", "environment.allowed_hosts", "environment.allow_internet",
	"environment.env", "environment.workdir", "environment.skills_dir", "environment.healthcheck",
	"environment.mcp_servers",
	"steps",
}

// schemaVersions that this loader knows.
var schemaVersions = []string{"1.0", "1.1", "1.2", "1.3", "1.4"}

// foreignKeys returns a warning for every key of the document that no known schema has.
func foreignKeys(doc *Table) []Fault {
	var warnings []Fault
	warn := func(path string) {
		warnings = append(warnings, Fault{doc.file, doc.lineOf(path), "key " + path + " is not known; it is kept and not used"})
	}
	for key, v := range sortedItems(doc.values) {
		if slices.Contains(harborKeys, key) {
			continue
		}
		if !slices.ContainsFunc(harborKeys, func(k string) bool { return strings.HasPrefix(k, key+".") }) {
			warn(key)
			continue
		}
		table, ok := v.(map[string]any)
		if !ok || slices.Contains(harborKeys, key+".*") {
			continue
		}
		for sub := range sortedItems(table) {
			if path := key + "." + sub; !slices.Contains(harborKeys, path) {
				warn(path)
			}
		}
	}
	return warnings
}
