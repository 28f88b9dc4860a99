import { describe, expect, it } from 'vitest';
import { historyPlot, latencyPlot, shortBytes, smoothed } from '../../bench/comparison/peer-page.ts';
import { linearScale, logScale, type Plot, svgPlot } from '../../bench/figures/plot.ts';
import { historyOf, phaseOf, sampleOf } from './peer-samples.ts';

describe('scales', () => {
  it('have round ticks, from 0 to above the largest value', () => {
    expect(linearScale(200, 5).ticks).toEqual([0, 50, 100, 150, 200]);
    expect(linearScale(23.4, 5).ticks).toEqual([0, 5, 10, 15, 20, 25]);
    expect(linearScale(0.7, 5).ticks).toEqual([0, 0.2, 0.4, 0.6, 0.8]);
    expect(linearScale(23.4, 5).place(12.5)).toBe(0.5);
  });

  it('have powers of ten if they are logarithmic', () => {
    const { ticks, place } = logScale(4_000, 52_428_800);
    expect(ticks).toEqual([1e3, 1e4, 1e5, 1e6, 1e7, 1e8]);
    expect([1e3, 1e8].map(place)).toEqual([0, 1]);
    expect(place(1e6)).toBeCloseTo(0.6);
    expect(logScale(100, 100).ticks).toEqual([100, 1_000]);
  });
});

describe('a plot', () => {
  const axis = { label: 'x', scale: linearScale(10, 5), format: String };
  const plot: Plot = {
    title: 'This & <that>',
    subtitle: '',
    x: axis,
    y: { ...axis, label: 'y' },
    series: [
      {
        label: 'low',
        color: '#111111',
        points: [
          { x: 0, y: 0 },
          { x: 10, y: 5 },
        ],
      },
      {
        label: 'high',
        color: '#222222',
        points: [
          { x: 0, y: 0 },
          { x: 5, y: 10 },
        ],
        end: 'ended',
      },
    ],
  };
  const svg = svgPlot(plot);
  const pathOf = (color: string): number[] => {
    const [, path = ''] = new RegExp(`<path d="M([^"]+)" stroke="${color}" stroke-width="2.2"`).exec(svg) ?? [];
    return path.split(/[L ]/).map(Number);
  };

  it('draws each line from point to point: larger values further right and further up', () => {
    const [left, bottom, right, middle] = pathOf('#111111');
    const [, , half, top] = pathOf('#222222');
    expect(half).toBeCloseTo(((left ?? 0) + (right ?? 0)) / 2);
    expect(middle).toBeCloseTo(((bottom ?? 0) + (top ?? 0)) / 2);
    expect(top).toBeLessThan(bottom ?? 0);
  });

  it('labels the lines in the order of their ends, with the reason why one ended', () => {
    expect(svg.indexOf('>high<')).toBeLessThan(svg.indexOf('>low<'));
    expect(svg.match(/✕ ended/g)).toHaveLength(1);
    expect(svg.match(/stroke="#222222" stroke-width="2.6"/g)).toHaveLength(1);
  });

  it('escapes its texts', () => {
    expect(svg).toContain('>This &amp; &lt;that><');
    expect(svg).not.toContain('<that>');
  });
});

describe('the plots of the comparison', () => {
  const killed = { type: 'killed', step: 2, reason: 'too long' } as const;
  const measured = [
    phaseOf('long results', {
      longhaul: [sampleOf(8, { history: historyOf(1_000) })],
      'ai-sdk': [sampleOf(16, { history: historyOf(900_000), ending: killed })],
    }),
  ];

  it('mark the run that the server terminated, in both', () => {
    for (const svg of [historyPlot(measured), latencyPlot(measured)]) {
      expect(svg).toContain('✕ killed at step 2');
      expect(svg).toContain('>Longhaul<');
      expect(svg).not.toContain('NaN');
    }
  });

  it('smooth by the median of neighbouring values, so that a single outlier disappears', () => {
    expect(smoothed([1, 1, 1, 1, 90, 1, 1, 1, 1])).toEqual(Array.from({ length: 9 }, () => 1));
    expect(smoothed([3])).toEqual([3]);
  });

  it('write bytes in short form', () => {
    expect([100, 1e3, 1e4, 1e8].map(shortBytes)).toEqual(['100 B', '1 kB', '10 kB', '100 MB']);
  });
});
