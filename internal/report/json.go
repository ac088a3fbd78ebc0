package report

import (
	"encoding/json"
	"fmt"
	"io"
)

// WriteJSON prints the report as indented JSON with a final newline.
func (r Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("write report as JSON: %w", err)
	}
	return nil
}
