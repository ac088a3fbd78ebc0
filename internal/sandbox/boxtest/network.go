package boxtest

import (
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"assay/internal/sandbox"
)

func (s suite) network() tests {
	// python prints what got through.
	silent := func(source string, args ...string) func(*testing.T) {
		return func(t *testing.T) {
			wantRun(t, s.box(t, sandbox.Options{}), python("import os, socket, sys\n"+source+"\nprint('done')", args...), "done\n")
		}
	}
	return tests{
		"is declared": func(t *testing.T) {
			if !s.enforces.Network {
				t.Error("every kind must cut the network off")
			}
		},
		"nothing outside is reached": silent(`
for family, address in (socket.AF_INET, ("1.1.1.1", 53)), (socket.AF_INET, ("169.254.169.254", 80)), (socket.AF_INET, ("10.0.0.1", 80)), (socket.AF_INET6, ("2606:4700::1111", 53)):
    for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
        try:
            s = socket.socket(family, kind); s.settimeout(2); s.connect(address); s.send(b"x")
            print("reached", address, kind)
        except OSError: pass`),
		"names are not resolved": silent(`
for name in "example.com", "host.docker.internal", "gateway.docker.internal":
    try: print(name, socket.getaddrinfo(name, 80))
    except OSError: pass`),
		"loopback works": func(t *testing.T) {
			wantRun(t, s.box(t, sandbox.Options{}), python(`
import socket
l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen()
c = socket.create_connection(l.getsockname()); c.sendall(b"loopback"); p, _ = l.accept(); print(p.recv(20).decode())
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(("127.0.0.1", 0)); u.sendto(b"datagram", u.getsockname()); print(u.recv(20).decode())
print(socket.gethostbyname("localhost"))`), "loopback\ndatagram\n127.0.0.1\n")
		},
		"raw and packet sockets": silent(`
for family, kind, proto in (socket.AF_INET, socket.SOCK_RAW, 1), (socket.AF_INET, socket.SOCK_RAW, 255), (socket.AF_INET6, socket.SOCK_RAW, 58), (17, socket.SOCK_RAW, 0x300), (17, socket.SOCK_DGRAM, 0x300):
    try: socket.socket(family, kind, proto); print("made", family, kind, proto)
    except OSError: pass`),
		// A vsock reaches the machine below this one, whatever the namespace.
		"vsock": silent(`
for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
    try: socket.socket(40, kind); print("vsock", kind)
    except OSError: pass`),
		"algorithm sockets": silent(`
try: socket.socket(38, socket.SOCK_SEQPACKET); print("AF_ALG")
except OSError: pass`),
		"interfaces": silent(`
flags = {}
import fcntl, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _, name in socket.if_nameindex():
    up = struct.unpack("16xH14x", fcntl.ioctl(s, 0x8913, struct.pack("16sH14x", name.encode(), 0)))[0] & 1
    if up and name != "lo": print("interface", name)
routes = open("/proc/net/route").read().splitlines()[1:]
if routes: print("routes", routes)
try: fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 0)); print("lo was put down")
except OSError: pass`),
		"the host's own sockets": func(t *testing.T) {
			name := fmt.Sprintf("assay-boxtest-%d-%d", os.Getpid(), time.Now().UnixNano())
			for _, l := range []struct{ network, address string }{{"unix", "@" + name}, {"tcp", "127.0.0.1:0"}} {
				listener, err := net.Listen(l.network, l.address)
				if err != nil {
					t.Fatal(err)
				}
				defer listener.Close()
				if l.network == "unix" {
					silent(`
try: socket.socket(socket.AF_UNIX).connect("\0" + sys.argv[1]); print("abstract socket reached")
except OSError: pass
if sys.argv[1] in open("/proc/net/unix").read(): print("abstract socket seen")`, name)(t)
					continue
				}
				_, port, err := net.SplitHostPort(listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				silent(`
try: socket.create_connection(("127.0.0.1", int(sys.argv[1])), 2); print("port reached")
except OSError: pass
if "%04X" % int(sys.argv[1]) in open("/proc/net/tcp").read(): print("port seen")`, port)(t)
			}
		},
	}
}
