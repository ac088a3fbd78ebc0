package rootfs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPackageScriptsSeeNoSecrets(t *testing.T) {
	got := bootstrapEnv([]string{"PATH=/bin", "MY_API_KEY=secret", "http_proxy=http://p", "LD_PRELOAD=x", "odd", "HOME=/h"})
	if diff := cmp.Diff([]string{"PATH=/bin", "http_proxy=http://p", "HOME=/h"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
