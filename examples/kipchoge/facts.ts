/** An entry that a search can find. */
export interface Fact {
  title: string;
  text: string;
}

/** The entries of the web. */
export const WEB: readonly Fact[] = [
  {
    title: "Eliud Kipchoge's marathon world record",
    text: 'Kipchoge ran the Berlin Marathon on 25 September 2022 in 2:01:09, then the world record: 42.195 km at a pace of 2:52 min/km, 20.9 km/h.',
  },
  {
    title: 'INEOS 1:59 Challenge',
    text: 'In Vienna on 12 October 2019 Eliud Kipchoge ran 42.195 km in 1:59:40. Pacemakers took turns, so it does not count as a record.',
  },
  {
    title: 'Marathon world record broken in Chicago',
    text: 'Kelvin Kiptum ran the Chicago Marathon on 8 October 2023 in 2:00:35, 34 seconds faster than the record of Eliud Kipchoge.',
  },
  { title: 'How long is a marathon?', text: 'A marathon is 42.195 km long. The distance was set for good in 1921.' },
  { title: 'How far away is the Moon?', text: 'On average the Moon is 384,400 km away. It takes light 1.28 seconds to come from there.' },
  { title: 'How big is the Earth?', text: 'The Earth has a circumference of 40,075 km at the equator and a mean radius of 6,371 km.' },
];

/** The entries of the encyclopedia. */
export const WIKIPEDIA: readonly Fact[] = [
  {
    title: 'Moon',
    text: 'The Moon orbits the Earth at an average distance of 384,400 km. At perigee, the nearest point of its orbit, it comes as close as 356,500 km; at apogee, the farthest, it is up to 406,700 km away.',
  },
  {
    title: 'Eliud Kipchoge',
    text: 'Eliud Kipchoge (born 5 November 1984) is a Kenyan long-distance runner, Olympic champion in the marathon in 2016 and 2021. His best time is 2:01:09 (Berlin, 2022).',
  },
  { title: 'Marathon', text: 'The marathon is a foot race over 42.195 km, usually run on roads.' },
  {
    title: 'Lunar distance',
    text: 'The lunar distance is the mean distance from the centre of the Earth to the centre of the Moon: 384,399 km.',
  },
  { title: 'Sun', text: 'The Sun is the star at the centre of the Solar System, on average 149,600,000 km from the Earth.' },
  { title: 'Mars', text: 'Mars is the fourth planet from the Sun. It comes within 54,600,000 km of the Earth.' },
];

/** Words that do not matter for a search. */
const FILLERS = new Set(
  'a an and at by did do does for from has have how in is it its of on or that the to was what when which who with'.split(' '),
);

/** The entries that contain words of the query, best first, at most `limit`. A word in the title counts three times. */
export function findFacts(facts: readonly Fact[], query: string, limit: number): Fact[] {
  const wanted = words(query).filter((word) => !FILLERS.has(word));
  return facts
    .map((fact) => ({ fact, score: 3 * hits(wanted, fact.title) + hits(wanted, fact.text) }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score)
    .slice(0, limit)
    .map(({ fact }) => fact);
}

function hits(wanted: readonly string[], text: string): number {
  const found = new Set(words(text));
  return wanted.filter((word) => found.has(word)).length;
}

function words(text: string): string[] {
  return (
    text
      .toLowerCase()
      .replaceAll("'s", '')
      .match(/[\p{L}\d]+/gu) ?? []
  );
}
