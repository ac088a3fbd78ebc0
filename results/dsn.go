package results

import (
	"database/sql"
	"fmt"
	"net/url"
	"time"

	"modernc.org/sqlite"
)

// busyTimeout is how long SQLite waits for a lock of another connection. Only a
// foreign program can hold one for long.
const busyTimeout = 10 * time.Second

// access is how a connection may touch the file.
type access int

const (
	accessWrite     access = iota // the one writer
	accessBuild                   // a file under construction, without a log beside it
	accessRead                    // beside a writer
	accessImmutable               // nobody writes: no file is made beside it
)

// dsn names the file with the pragmas of every connection. They stand here, not
// in statements, because a pool opens connections when it likes.
func dsn(path string, a access, maxPages int) string {
	q := url.Values{}
	pragma := func(format string, args ...any) { q.Add("_pragma", fmt.Sprintf(format, args...)) }
	pragma("busy_timeout(%d)", busyTimeout.Milliseconds())
	pragma("foreign_keys(1)")
	pragma("recursive_triggers(1)")
	switch a {
	case accessWrite, accessBuild:
		q.Set("mode", "rw")
		q.Set("_txlock", "immediate")
		if a == accessBuild {
			q.Set("mode", "rwc")
			pragma("journal_mode(DELETE)")
		} else {
			pragma("journal_mode(WAL)")
			pragma("journal_size_limit(%d)", 64<<20)
		}
		pragma("synchronous(FULL)")
		if maxPages > 0 {
			pragma("max_page_count(%d)", maxPages)
		}
	case accessRead:
		q.Set("mode", "ro")
		pragma("query_only(1)")
	case accessImmutable:
		q.Set("mode", "ro")
		q.Set("immutable", "1")
		pragma("query_only(1)")
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

// connect returns a pool of at most conns connections to the file.
func connect(path string, a access, maxPages, conns int) (*sql.DB, error) {
	c, err := sqlite.NewConnector(dsn(path, a, maxPages))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}
