package rootfs

// Buildable says what a build of the root tree lacks on this machine, without
// building: a *sandbox.UnavailableError, or nil where Ensure would build one.
func Buildable() error {
	if _, err := own(); err != nil {
		return err
	}
	return able()
}
