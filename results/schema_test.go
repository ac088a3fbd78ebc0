package results

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func tables(t *testing.T, path string) []string {
	t.Helper()
	var out []string
	db := foreign(t, path)
	must(t, collect(t.Context(), db, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'
		AND name NOT LIKE 'goose%' ORDER BY name`, nil, scanInto(&out)))
	return out
}

func columns(t *testing.T, path, table string) []string {
	t.Helper()
	var out []string
	must(t, collect(t.Context(), foreign(t, path), "SELECT name FROM pragma_table_info(?) ORDER BY cid", []any{table}, scanInto(&out)))
	return out
}

func TestSchemaDigestIsThatOfTheMigrations(t *testing.T) {
	path := dbPath(t)
	must(t, fill(t.Context(), path, Options{Version: "test"}))
	got, err := digestSchema(t.Context(), foreign(t, path))
	must(t, err)
	if got != schemaDigest {
		t.Errorf("the constant is %s, the migrations make %s", schemaDigest, got)
	}
}

func TestTablesAreStrict(t *testing.T) {
	path := filled(t)
	var loose []string
	must(t, collect(t.Context(), foreign(t, path), `SELECT name FROM pragma_table_list WHERE type = 'table' AND strict = 0
		AND schema = 'main' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'goose%'`, nil, scanInto(&loose)))
	if len(loose) != 0 {
		t.Errorf("not STRICT: %v", loose)
	}
}

// Every unique key of every table, found in the schema and not listed here, is
// tried with REPLACE, UPSERT and IGNORE by a foreign connection whose recursive
// triggers are off.
func TestRowsCannotBeChanged(t *testing.T) {
	path := filled(t)
	db := foreign(t, path)
	db.SetMaxOpenConns(1)
	before, err := openReader(t, path).Digest(t.Context())
	must(t, err)
	all := tables(t, path)
	if len(all) != 16 {
		t.Fatalf("tables: %v", all)
	}
	for _, table := range all {
		names := columns(t, path, table)
		var rows int
		must(t, db.QueryRow("SELECT count(*) FROM "+table).Scan(&rows))
		if rows == 0 {
			t.Fatalf("%s has no row, so a trigger cannot be shown to fire", table)
		}
		refused := func(what, query string) {
			t.Run(table+"/"+what, func(t *testing.T) {
				_, err := db.Exec(query)
				if err == nil || !strings.Contains(err.Error(), table+" is append-only") {
					t.Errorf("%s: %v", query, err)
				}
			})
		}
		cols := strings.Join(names, ", ")
		refused("update", fmt.Sprintf("UPDATE %s SET %s = %s", table, names[0], names[0]))
		refused("update or replace", fmt.Sprintf("UPDATE OR REPLACE %s SET %s = %s", table, names[0], names[0]))
		refused("delete", "DELETE FROM "+table)
		refused("replace", fmt.Sprintf("INSERT OR REPLACE INTO %[1]s (%[2]s) SELECT %[2]s FROM %[1]s", table, cols))
		refused("ignore", fmt.Sprintf("INSERT OR IGNORE INTO %[1]s (%[2]s) SELECT %[2]s FROM %[1]s", table, cols))
		refused("upsert", fmt.Sprintf("INSERT INTO %[1]s (%[2]s) SELECT %[2]s FROM %[1]s WHERE true ON CONFLICT DO UPDATE SET %[3]s = %[3]s", table, cols, names[0]))
		keys := uniqueKeys(t, path, table)
		for _, key := range keys {
			// All other keys are made new: only this one clashes.
			pick := slices.Clone(names)
			for i, n := range names {
				if !slices.Contains(key, n) && slices.ContainsFunc(keys, func(k []string) bool { return slices.Contains(k, n) }) {
					pick[i] = another(t, path, table, n)
				}
			}
			refused("replace by "+strings.Join(key, ","),
				fmt.Sprintf("INSERT OR REPLACE INTO %s (%s) SELECT %s FROM %s", table, cols, strings.Join(pick, ", "), table))
		}
	}
	after, err := openReader(t, path).Digest(t.Context())
	must(t, err)
	if after != before {
		t.Error("the digest changed")
	}
}

// another is an expression for a value of a column that no row has.
func another(t *testing.T, path, table, column string) string {
	t.Helper()
	var kind string
	must(t, foreign(t, path).QueryRow("SELECT type FROM pragma_table_info(?) WHERE name = ?", table, column).Scan(&kind))
	switch kind {
	case "INTEGER":
		return column + " + 1000"
	case "TEXT":
		return column + " || 'x'"
	case "BLOB":
		return "randomblob(32)"
	}
	t.Fatalf("%s.%s has the type %s", table, column, kind)
	return ""
}

// uniqueKeys finds the keys of a table, its primary key among them.
func uniqueKeys(t *testing.T, path, table string) [][]string {
	t.Helper()
	db := foreign(t, path)
	var primary, indexes []string
	must(t, collect(t.Context(), db, "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", []any{table}, scanInto(&primary)))
	must(t, collect(t.Context(), db, `SELECT name FROM pragma_index_list(?) WHERE "unique" AND origin <> 'pk'`, []any{table}, scanInto(&indexes)))
	keys := [][]string{primary}
	for _, ix := range indexes {
		var key []string
		must(t, collect(t.Context(), db, "SELECT name FROM pragma_index_info(?)", []any{ix}, scanInto(&key)))
		keys = append(keys, key)
	}
	return keys
}

// A table or column that the digest forgets could be changed unseen.
func TestDigestCoversEveryColumn(t *testing.T) {
	path := filled(t)
	covered := []string{"blobs", "checks", "events", "formats", "gradings"} // a regrade adds to these
	for _, c := range chained {
		covered = append(covered, c.table)
	}
	slices.Sort(covered)
	if diff := cmp.Diff(tables(t, path), covered); diff != "" {
		t.Errorf("(-tables +digest and left out):\n%s", diff)
	}
	for _, c := range chained {
		listed := strings.NewReplacer("(SELECT sha256 FROM blobs WHERE id = ", "", ")", "", "\n", " ", "\t", "").Replace(c.columns)
		var got []string
		for name := range strings.SplitSeq(listed, ",") {
			got = append(got, strings.TrimSpace(name))
		}
		if diff := cmp.Diff(columns(t, path, c.table), got); diff != "" {
			t.Errorf("%s (-table +digest):\n%s", c.table, diff)
		}
	}
}

func TestDocsNameEveryTableAndColumn(t *testing.T) {
	data, err := os.ReadFile("../docs/schema.md")
	must(t, err)
	path := filled(t)
	for _, table := range tables(t, path) {
		_, section, ok := strings.Cut(string(data), "### `"+table+"`\n")
		if !ok {
			t.Errorf("docs/schema.md has no section for the table %s", table)
			continue
		}
		section, _, _ = strings.Cut(section, "\n### ")
		for _, column := range columns(t, path, table) {
			if !strings.Contains(section, "`"+column+"`") {
				t.Errorf("docs/schema.md says nothing about %s.%s", table, column)
			}
		}
	}
}
