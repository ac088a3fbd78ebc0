package image

import (
	"context"
	"fmt"
)

// derive lays this program on the base of an image that the engine has.
func (m *maker) derive(ctx context.Context, from held, pull string, origin Origin) (Image, error) {
	if err := m.program.loadsUnseen(); err != nil {
		return Image{}, err
	}
	top, err := supervisorLayer(ctx, m.program)
	if err != nil {
		return Image{}, err
	}
	d := draft{names: m.names, architecture: from.image.Architecture, label: from.label}
	d.label.Supervisor, d.label.SupervisorLayer, d.label.From = m.program.digest, top.diffID, pull
	for _, diffID := range d.label.Base {
		d.layers = append(d.layers, layer{diffID: diffID})
	}
	d.layers = append(d.layers, top)
	im, err := m.load(ctx, d, origin)
	if !refused(err) {
		return im, err
	}
	m.say(fmt.Sprintf("the engine wants all layers: reading image %s and loading it again", from.image.Ref))
	s, err := m.save(ctx, from)
	if err != nil {
		return Image{}, err
	}
	defer s.close()
	copy(d.layers, s.layers[:len(d.label.Base)])
	return m.load(ctx, d, origin)
}
