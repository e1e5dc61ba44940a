# SPDX-License-Identifier: Apache-2.0
"""Colours of any two stages keep apart: for every kind of colour blindness, and in
grey. Each figure has the same ones. A pair that some can't tell apart is found."""
import itertools

from plots import STAGES, Case, Run, main

from plotlib import look

# How linear light of the screen is seen without one kind of cone (Machado, Oliveira, Fernandes 2009, severity 1).
EYES = {
    'all cones': ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    'no red cones': ((.152286, 1.052583, -.204868), (.114503, .786281, .099216), (-.003882, -.048116, 1.051998)),
    'no green cones': ((.367322, .860646, -.227968), (.280085, .672501, .047413), (-.011820, .042940, .968881)),
    'no blue cones': ((1.255528, -.076749, -.178779), (-.078411, .930809, .147602), (.004733, .691367, .303900)),
}
APART, GREY = 20, 10    # in CIE L*a*b*, where 2.3 is just seen; grey: in L* alone


def linear(colour):
    c = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return [x / 12.92 if x <= .04045 else ((x + .055) / 1.055) ** 2.4 for x in c]


def lab(light):
    r, g, b = (min(1, max(0, x)) for x in light)
    x, y, z = .4124 * r + .3576 * g + .1805 * b, .2126 * r + .7152 * g + .0722 * b, .0193 * r + .1192 * g + .9505 * b
    x, y, z = (t ** (1 / 3) if t > .008856 else 7.787 * t + 16 / 116 for t in (x / .9505, y, z / 1.089))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def seen(colour, eye):
    return lab([sum(a * b for a, b in zip(row, linear(colour))) for row in EYES[eye]])


def close_pairs(colours):
    out = []
    for a, b in itertools.combinations(colours, 2):
        for eye in EYES:
            if sum((x - y) ** 2 for x, y in zip(seen(a, eye), seen(b, eye))) ** .5 < APART:
                out.append((a, b, eye))
        if abs(seen(a, 'all cones')[0] - seen(b, 'all cones')[0]) < GREY:
            out.append((a, b, 'grey'))
    return out


class Colours(Case):
    def test_apart(self):
        self.assertEqual(close_pairs([s.colour for s in look.STAGES]), [])

    def test_a_bad_pair_is_found(self):
        self.assertIn('no green cones', [eye for _, _, eye in close_pairs(['#d62728', '#8c6d1f'])])
        self.assertIn('grey', [eye for _, _, eye in close_pairs(['#c24e14', '#2c7fb8'])])

    def test_markers_differ(self):
        self.assertEqual(len({s.marker for s in look.STAGES + look.SUMS}), len(look.STAGES + look.SUMS))

    def test_the_same_everywhere(self):
        """Read back from figures of different kinds and experiments."""
        Run(self.dir).experiment('a', 'size', ('8', '64')).experiment('b', 'ordering', ('none', 'sys-fence')).write()
        self.plot('--kind', 'stack,share')
        for name in ('a.stack', 'a.share', 'b.stack', 'b.share'):
            svg = self.svg(name)
            for s in STAGES:
                for origin in look.ORIGIN:
                    if f'part.{s}.{origin}' in svg.ids:
                        self.assertEqual(svg.colour(f'part.{s}.{origin}'), look.LOOK[s].colour, (name, s, origin))


if __name__ == '__main__':
    main()
