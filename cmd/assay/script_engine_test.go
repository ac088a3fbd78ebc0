package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"assay/internal/sandbox/docker"

	"github.com/rogpeppe/go-internal/testscript"
)

// faultyDocker puts a docker engine with a fault at a socket and names it in
// DOCKER_HOST: docker SOCKET FAULT [REQUEST [TIMES]]. FAULT is "hangs" (it takes
// connections and never answers), or "says MESSAGE" / "stalls" for requests whose
// "METHOD PATH" fits the expression REQUEST; all others go to the real engine.
// "goes" cuts every connection and closes the socket at such a request. The first
// TIMES of them go to the real engine as well.
func faultyDocker(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 4 {
		ts.Fatalf("usage: docker SOCKET FAULT [REQUEST [TIMES]]")
	}
	socket := ts.MkAbs(args[0])
	l, err := net.Listen("unix", socket)
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	ts.Setenv("DOCKER_HOST", "unix://"+socket)
	if args[1] == "hangs" {
		return // the backlog takes connections, nobody reads them
	}
	request := regexp.MustCompile(args[2])
	var spared atomic.Int64
	if len(args) > 3 {
		n, err := strconv.ParseInt(args[3], 10, 64)
		ts.Check(err)
		spared.Store(n)
	}
	stop := make(chan struct{})
	ts.Defer(func() { close(stop) })
	target := &url.URL{Scheme: "http", Host: "docker"}
	real := httputil.NewSingleHostReverseProxy(target)
	real.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", "/var/run/docker.sock")
	}}
	real.FlushInterval = -1
	var server *http.Server
	server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !request.MatchString(r.Method+" "+r.URL.Path) || spared.Add(-1) >= 0 {
			real.ServeHTTP(w, r)
			return
		}
		message, says := strings.CutPrefix(args[1], "says ")
		switch {
		case says:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(`{"message":"` + message + `"}`))
		case args[1] == "goes":
			go server.Close()
			<-r.Context().Done()
		default:
			select {
			case <-stop:
			case <-r.Context().Done():
			}
		}
	})}
	go func() { _ = server.Serve(l) }()
	ts.Defer(func() { _ = server.Close() })
}

// boxes waits until the engine has so many boxes of runs that are not alive, or
// of the test's own programs: boxes COUNT.
func boxes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: boxes COUNT")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	e, err := docker.Connect(ctx)
	ts.Check(err)
	defer e.Close()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		all, err := e.Boxes(ctx)
		ts.Check(err)
		n := 0
		for _, b := range all {
			if b.Owner == docker.OwnerDead {
				n++
			}
		}
		if n == want {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("%d boxes of dead runs, want %d: %+v", n, want, all)
		}
	}
}
