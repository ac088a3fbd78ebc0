// Command assay measures which checkpoint, quantisation and server settings to
// run for coding work. See the README.
package main

import "os"

func main() { os.Exit(run(processState())) }
