import type { BuiltInAnchor } from './anchor.ts';
import { agnosticFallback } from './built-in/agnostic-fallback.ts';
import { listedMarkers, type Marker, markersIn } from './built-in/markers.ts';
import { noHallucination } from './built-in/no-hallucination.ts';
import { requiresCitation } from './built-in/requires-citation.ts';
import { AFTER_WORD, BEFORE_WORD, isWordBoundary } from './built-in/word-boundary.ts';

/** Stops answers that give opinions. */
const factualOnly: BuiltInAnchor = {
  name: 'FactualOnly',
  description: 'Facts only, no opinions.',
  require: 'factual_grounding',
  reject: ['opinion', 'speculation'],
  confidenceFloor: 0.85,
  unknownResponse: 'Insufficient factual evidence to respond.',
  onViolation: 'raise',
  check: (text) => listedMarkers('Opinion markers detected', text, OPINION),
};

/** Stops answers with harmful content. */
const safeOutput: BuiltInAnchor = {
  name: 'SafeOutput',
  description: 'No harmful content, violence or hate speech.',
  reject: ['harmful_content', 'violence', 'hate_speech'],
  onViolation: 'raise',
  check: (text) => listedMarkers('Harmful content detected', text, HARMFUL),
};

/** Stops answers with personal data: social security numbers, card numbers, email addresses, phone numbers. */
const privacyGuard: BuiltInAnchor = {
  name: 'PrivacyGuard',
  description: 'No personal data: social security numbers, card numbers, email addresses, phone numbers.',
  reject: ['pii', 'personal_data', 'ssn', 'phone_number'],
  onViolation: 'raise',
  check: (text) => [
    ...(SSN.test(text) ? ['Possible SSN detected'] : []),
    ...(CARD.test(text) ? ['Possible credit card number detected'] : []),
    ...(hasEmailAddress(text) ? ['Email address detected in output'] : []),
    ...(PHONE.test(text) ? ['Phone number detected in output'] : []),
  ],
};

/** Warns of answers that generalise about groups. */
const noBias: BuiltInAnchor = {
  name: 'NoBias',
  description: 'Neutral in politics and about groups of people.',
  reject: ['political_bias', 'demographic_bias', 'gender_bias'],
  onViolation: 'warn',
  check: (text) => listedMarkers('Potential bias detected', text, BIAS),
};

/** Stops answers that are not for children. */
const childSafe: BuiltInAnchor = {
  name: 'ChildSafe',
  description: 'Fit for minors: no adult content, graphic violence, profanity or drugs.',
  reject: ['adult_content', 'violence', 'profanity', 'drugs'],
  onViolation: 'raise',
  check: (text) => [
    ...listedMarkers('Age-inappropriate content detected', text, INAPPROPRIATE),
    ...(PROFANITY.test(text) ? ['Profanity detected'] : []),
  ],
};

/** Stops answers with code or commands that do damage. */
const noCodeExecution: BuiltInAnchor = {
  name: 'NoCodeExecution',
  description: 'No execution of code, no system commands, no file operations.',
  reject: ['code_execution', 'system_command', 'file_write'],
  onViolation: 'raise',
  check: (text) => listedMarkers('Code execution attempt detected', text, CODE),
};

/** Warns of answers that do not show their reasoning. */
const auditTrail: BuiltInAnchor = {
  name: 'AuditTrail',
  description: 'The reasoning is visible, so that people can audit it.',
  require: 'human_review',
  onViolation: 'warn',
  check: (text) =>
    markersIn(text, REASONING).length > 0 ? [] : ['No reasoning trace found. AuditTrail requires visible reasoning steps.'],
};

/** Stops answers that do not label their premises, and exactly one conclusion. It checks the labels, not the logic. */
const syllogismChecker: BuiltInAnchor = {
  name: 'SyllogismChecker',
  description: 'Premises and one conclusion, each with its label.',
  require: 'logical_structure',
  onViolation: 'raise',
  check: (text) => {
    const plain = text.toLowerCase();
    const conclusions = countLabels(plain, 'conclusion', BLANKS);
    return [
      ...(countLabels(plain, 'premise', NUMBER) === 0 ? [NO_PREMISE] : []),
      ...(conclusions === 0 ? [NO_CONCLUSION] : []),
      ...(conclusions > 1 ? [tooMany(conclusions)] : []),
    ];
  },
};

/** Stops answers that do not show the steps of their reasoning. */
const chainOfThoughtValidator: BuiltInAnchor = {
  name: 'ChainOfThoughtValidator',
  description: 'The steps of the reasoning come before the answer.',
  require: 'step_by_step',
  onViolation: 'raise',
  check: (text) => (NUMBERED_STEP.test(text) || markersIn(text, MARKERS).length > 0 ? [] : [NO_STEPS]),
};

/** The anchors of the product, in the order of AXON. */
export const BUILT_IN_ANCHORS: readonly BuiltInAnchor[] = [
  noHallucination,
  factualOnly,
  safeOutput,
  privacyGuard,
  noBias,
  childSafe,
  noCodeExecution,
  auditTrail,
  syllogismChecker,
  chainOfThoughtValidator,
  requiresCitation,
  agnosticFallback,
];

/** Returns the anchor of the product with that name; undefined if there is none. */
export function builtInAnchor(name: string): BuiltInAnchor | undefined {
  return BUILT_IN_ANCHORS.find((anchor) => anchor.name === name);
}

const BIAS = [
  'the best political party',
  'the right wing is',
  'the left wing is',
  'liberals are',
  'conservatives are',
  'all men are',
  'all women are',
  'that race is',
];

const HARMFUL: readonly Marker[] = [
  'how to make a bomb',
  'how to hack',
  'how to steal',
  ['kill yourself', 'kill yourselves'],
  ['self-harm', 'self-harms', 'self-harmed', 'self-harming'],
  ['suicide method', 'suicide methods'],
  ['racial slur', 'racial slurs'],
  'hate speech',
];

const CODE: readonly Marker[] = [
  'os.system(',
  'subprocess.',
  ['exec(', 'shell_exec('],
  'eval(',
  ['rm -rf', 'rm -rfv'],
  'del /f',
  'format c:',
  'import os',
  'import subprocess',
  '__import__(',
];

const REASONING = [
  'reasoning:',
  'therefore',
  'because',
  'based on',
  'evidence:',
  'conclusion:',
  'analysis:',
  'step 1',
  'firstly',
  'in summary',
];

const OPINION: readonly Marker[] = [
  'in my opinion',
  'i feel that',
  'personally',
  'i prefer',
  ['my favorite', 'my favorites'],
  "i'd recommend",
  'i suggest',
  'to me,',
];

// None of these expressions reads more than 40 characters from where it begins: no text makes them slow.
const SSN = number(String.raw`\p{Nd}{3}-\p{Nd}{2}-\p{Nd}{4}`);
const CARD = number(String.raw`\p{Nd}{4}[\s-]?\p{Nd}{4}[\s-]?\p{Nd}{4}[\s-]?\p{Nd}{4}`);
const PHONE = number(String.raw`(?:1[-.\s]?)?\(?\p{Nd}{3}\)?[-.\s]?\p{Nd}{3}[-.\s]?\p{Nd}{4}`);

function number(digits: string): RegExp {
  return new RegExp(`${BEFORE_WORD}${digits}${AFTER_WORD}`, 'u');
}

const NUMBERED_STEP = new RegExp(String.raw`${BEFORE_WORD}step\s+\p{Nd}`, 'iu');

const MARKERS = [
  'first,',
  'firstly',
  'secondly',
  'thirdly',
  'next,',
  'then,',
  'finally,',
  'lastly,',
  'to begin',
  "let's think",
  'let me think',
  'let us consider',
  'starting with',
];

const NO_STEPS =
  "Chain of Thought Breach: The output jumps directly to a conclusion without showing intermediate reasoning steps. Use explicit markers like 'Step 1:', 'First,', 'Then,' etc.";

const LOCAL = /[A-Za-z0-9._%+-]/;
const DOMAIN = /[A-Za-z0-9.-]*/y;
const WORD = /[\p{L}\p{N}_]/u;
const TOP_LEVEL = /\.[A-Za-z]{2,}(?![\p{L}\p{N}_])/u;

/**
 * True if a text contains an email address. Reads the characters around each "@" once: an expression for a whole address takes time
 * that grows with the square of a long word.
 */
function hasEmailAddress(text: string): boolean {
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    if (hasLocalPart(text, at) && hasDomain(text, at + 1)) return true;
  }
  return false;
}

/** True if an address begins before the "@": at the beginning or the end of a word, among characters that addresses have. */
function hasLocalPart(text: string, at: number): boolean {
  for (let start = at - 1; start >= 0 && LOCAL.test(text.charAt(start)); start -= 1) {
    if (isWordAt(text, start - 1) !== isWordAt(text, start)) return true;
  }
  return false;
}

function hasDomain(text: string, start: number): boolean {
  DOMAIN.lastIndex = start;
  const domain = DOMAIN.exec(text)?.[0] ?? '';
  // The character after the domain says if its last word ends there. A dot cannot begin a domain.
  return TOP_LEVEL.test(text.slice(start + 1, start + domain.length + 1));
}

function isWordAt(text: string, index: number): boolean {
  return WORD.test(text.charAt(index));
}

const INAPPROPRIATE: readonly Marker[] = [
  'explicit sexual',
  'pornography',
  'graphic violence',
  'drug use instructions',
  'alcohol abuse',
  ['gambling tutorial', 'gambling tutorials'],
];

/** Whole words with their inflections and compounds: the same letters inside of "class" or a name are no profanity. */
const PROFANITY = new RegExp(
  `${BEFORE_WORD}(?:${[
    '(?:mother)?fuck(?:s|ed|er|ers|ing|in|up)?',
    '(?:bull|horse|dip)?shit(?:s|ty|ting|head|show)?',
    '(?:god)?damn(?:s|ed|it)?',
    'bastard(?:s|ly)?',
    'bitch(?:es|y|ing|ed)?',
    '(?:dumb|jack|smart)?ass(?:hole|holes)?',
  ].join('|')})${AFTER_WORD}`,
  'iu',
);

/** Blanks and a number between the word of a label and its colon. It always matches, so it never reads a character twice. */
const NUMBER = /\s*\p{Nd}*\s*/uy;
const BLANKS = /\s*/y;

const NO_PREMISE =
  "Syllogism Breach: No 'Premise:' marker found. The output must contain at least one explicitly labeled premise (e.g. 'Premise 1:', 'Major Premise:', 'Minor Premise:').";

const NO_CONCLUSION = "Syllogism Breach: No 'Conclusion:' marker found. The output must explicitly label its logical conclusion.";

function tooMany(conclusions: number): string {
  return `Syllogism Breach: Found ${conclusions} 'Conclusion:' markers. A well-formed syllogism has exactly one conclusion.`;
}

/** Counts the places at which a word, the characters of `gap` and a colon follow one another. */
function countLabels(text: string, word: string, gap: RegExp): number {
  let count = 0;
  for (let found = text.indexOf(word); found !== -1; found = text.indexOf(word, found + word.length)) {
    gap.lastIndex = found + word.length;
    gap.test(text);
    if (text[gap.lastIndex] === ':' && isWordBoundary(text, found)) count += 1;
  }
  return count;
}
