import { cutText } from '../core/domain/byte-budgets.ts';
import { errorMessage, thrownText } from '../core/domain/errors.ts';
import type { AnchorBreach, AnchorVerdict } from '../core/domain/verdicts.ts';

/** The constraint that an anchor adds to the system prompt. */
export interface AnchorConstraint {
  /** The name that agents and steps use to refer to the anchor. */
  readonly name: string;
  /** What an answer must have. */
  readonly require?: string;
  /** What an answer must not have. */
  readonly reject?: readonly string[];
  /** The rule in words. */
  readonly enforce?: string;
  /** The least confidence, from 0 to 1, with which the model may answer. Shown to the model, not checked. */
  readonly confidenceFloor?: number;
  /** The answer of an uncertain model. Shown to the model, not checked. */
  readonly unknownResponse?: string;
  /** `raise`: a breach fails the attempt. `warn`: a breach is recorded, and the answer passes. */
  readonly onViolation: 'raise' | 'warn';
}

/** What a check knows about the answer besides its text. */
export interface AnchorContext {
  /** The name of the step that the answer belongs to. */
  readonly step: string;
}

/** An anchor: a constraint, and the check that an answer satisfies it. Runs in the worker. */
export interface Anchor extends AnchorConstraint {
  /** Returns the violations in an answer, as sentences; empty if it passes. */
  readonly check: (text: string, context: AnchorContext) => string[] | Promise<string[]>;
}

/** A built-in anchor. Its check takes time proportional to the length of the text. */
interface BuiltInAnchor extends Anchor {
  readonly description: string;
  readonly check: (text: string) => string[];
}

/** Returns the severity of a breach. */
export function severityOf({ onViolation }: AnchorConstraint): 'error' | 'warning' {
  return onViolation === 'warn' ? 'warning' : 'error';
}

/** Returns the text that an anchor adds to the system prompt: its name, then a line for each part of its constraint. */
export function anchorInstruction(anchor: AnchorConstraint): string {
  const { name, require, reject = [], enforce, confidenceFloor, unknownResponse, onViolation } = anchor;
  return [
    `[CONSTRAINT: ${name}]`,
    ...(require ? [`  REQUIRE: ${require}`] : []),
    ...(reject.length > 0 ? [`  REJECT: ${reject.join(', ')}`] : []),
    ...(enforce ? [`  ENFORCE: ${enforce}`] : []),
    ...(confidenceFloor === undefined ? [] : [`  CONFIDENCE FLOOR: ${confidenceFloor}`]),
    ...(unknownResponse ? [`  WHEN UNCERTAIN: "${unknownResponse}"`] : []),
    `  ON VIOLATION: ${onViolation === 'raise' ? 'raise AnchorBreachError' : onViolation}`,
  ].join('\n');
}

/** Stops answers that hedge instead of citing a source. */
const noHallucination: BuiltInAnchor = {
  name: 'NoHallucination',
  description: 'Every claim needs a source: no speculation, no claims that cannot be verified.',
  require: 'source_citation',
  reject: ['speculation', 'unverifiable_claim'],
  confidenceFloor: 0.8,
  unknownResponse: "I don't have sufficient information to make this determination.",
  onViolation: 'raise',
  check: (text) => listedMarkers('Hedging without citation', text, HEDGING),
};

/** Stops answers without a citation. Does not check whether the source exists. */
const requiresCitation: BuiltInAnchor = {
  name: 'RequiresCitation',
  description: 'Facts need citations in the text.',
  require: 'inline_citation',
  reject: ['unverifiable_claim'],
  confidenceFloor: 0.9,
  onViolation: 'raise',
  check: (text) => (CITATIONS.some((form) => form.test(text)) ? [] : [NO_CITATION]),
};

/** The anchors that an honest "I do not know" need not satisfy: there is nothing to cite. */
const EVIDENCE: readonly Anchor[] = [noHallucination, requiresCitation];

/** The most violations of one anchor that are recorded, and the most bytes of each. */
const MAX_VIOLATIONS = 50;
const MAX_VIOLATION_BYTES = 2_000;

/**
 * Checks an answer with all anchors, in order, even if some are breached. An answer that admits that the model does not know
 * is excused from the anchors that ask for evidence, if `AgnosticFallback` is among the anchors. A check that throws is a breach.
 */
export async function checkAnchors(text: string, anchors: readonly Anchor[], context: AnchorContext): Promise<AnchorVerdict> {
  const isExcused = anchors.includes(agnosticFallback) && admitsIgnorance(text);
  const verdict: AnchorVerdict = { passed: true, checked: [], breaches: [], warnings: [], excused: [] };
  for (const anchor of anchors) {
    if (isExcused && EVIDENCE.includes(anchor)) {
      verdict.excused.push(anchor.name);
      continue;
    }
    verdict.checked.push(anchor.name);
    const violations = await violationsOf(anchor, text, context);
    if (violations.length === 0) continue;
    const breach: AnchorBreach = { anchor: anchor.name, violations };
    (severityOf(anchor) === 'error' ? verdict.breaches : verdict.warnings).push(breach);
  }
  return { ...verdict, passed: verdict.breaches.length === 0 };
}

async function violationsOf(anchor: Anchor, text: string, context: AnchorContext): Promise<string[]> {
  try {
    const violations: unknown = await anchor.check(text, context);
    if (Array.isArray(violations) && violations.every((one) => typeof one === 'string')) return limitedViolations(violations);
    return [uncheckedViolation(anchor, `its check returned ${thrownText(violations)}, not a list of texts`)];
  } catch (error) {
    return [uncheckedViolation(anchor, errorMessage(error))];
  }
}

function uncheckedViolation({ name }: Anchor, reason: string): string {
  return cutText(`${name} could not be checked: ${reason}`, MAX_VIOLATION_BYTES);
}

function limitedViolations(violations: readonly string[]): string[] {
  const first = violations.slice(0, MAX_VIOLATIONS).map((violation) => cutText(violation, MAX_VIOLATION_BYTES));
  const missing = violations.length - first.length;
  return missing === 0 ? first : [...first, `${missing} more violations`];
}

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

/** Warns about answers that generalize about groups. */
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

/** Warns about answers that do not show their reasoning. */
const auditTrail: BuiltInAnchor = {
  name: 'AuditTrail',
  description: 'The reasoning is visible, so that people can audit it.',
  require: 'human_review',
  onViolation: 'warn',
  check: (text) =>
    markersIn(text, REASONING).length > 0 ? [] : ['No reasoning trace found. AuditTrail requires visible reasoning steps.'],
};

/** Stops answers that do not label their premises and exactly one conclusion. Checks the labels, not the logic. */
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
  check: (text) => (NUMBERED_STEP.test(text) || markersIn(text, STEP_MARKERS).length > 0 ? [] : [NO_STEPS]),
};

/** Stops answers that guess instead of admitting that the model does not know. */
const agnosticFallback: BuiltInAnchor = {
  name: 'AgnosticFallback',
  description: 'A model that does not know says so, and does not guess.',
  require: 'epistemic_honesty',
  reject: ['unwarranted_speculation'],
  onViolation: 'raise',
  check: (text) => {
    const guesses = markersIn(text, GUESSING);
    return guesses.length === 0 || admitsIgnorance(text) ? [] : [guessing(guesses)];
  },
};

/** The built-in anchors, in AXON's order. */
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

/** Returns the built-in anchor with this name, or undefined. */
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

/** The source of an expression that matches where no word character precedes. Letters and digits of all scripts count. */
const BEFORE_WORD = String.raw`(?<![\p{L}\p{N}_])`;

/** The source of an expression that matches where no word character follows. */
const AFTER_WORD = String.raw`(?![\p{L}\p{N}_])`;

// These expressions read at most 40 characters from where they begin, so no text makes them slow.
const SSN = standaloneNumber(String.raw`\p{Nd}{3}-\p{Nd}{2}-\p{Nd}{4}`);
const CARD = standaloneNumber(String.raw`\p{Nd}{4}[\s-]?\p{Nd}{4}[\s-]?\p{Nd}{4}[\s-]?\p{Nd}{4}`);
const PHONE = standaloneNumber(String.raw`(?:1[-.\s]?)?\(?\p{Nd}{3}\)?[-.\s]?\p{Nd}{3}[-.\s]?\p{Nd}{4}`);

function standaloneNumber(digits: string): RegExp {
  return new RegExp(`${BEFORE_WORD}${digits}${AFTER_WORD}`, 'u');
}

const NUMBERED_STEP = new RegExp(String.raw`${BEFORE_WORD}step\s+\p{Nd}`, 'iu');

const STEP_MARKERS = [
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

const EMAIL_LOCAL = /[A-Za-z0-9._%+-]/;
const EMAIL_DOMAIN = /[A-Za-z0-9.-]*/y;
const WORD = /[\p{L}\p{N}_]/u;
const EMAIL_TOP_LEVEL = /\.[A-Za-z]{2,}(?![\p{L}\p{N}_])/u;

/**
 * True if a text contains an email address. Reads the characters around each "@" once: an expression for a whole address would take
 * quadratic time in the length of a word.
 */
function hasEmailAddress(text: string): boolean {
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    if (hasLocalPart(text, at) && hasDomain(text, at + 1)) return true;
  }
  return false;
}

/** True if an address begins before the "@": at the beginning or the end of a word, among characters that addresses have. */
function hasLocalPart(text: string, at: number): boolean {
  for (let start = at - 1; start >= 0 && EMAIL_LOCAL.test(text.charAt(start)); start -= 1) {
    if (isWordAtIndex(text, start - 1) !== isWordAtIndex(text, start)) return true;
  }
  return false;
}

function hasDomain(text: string, start: number): boolean {
  EMAIL_DOMAIN.lastIndex = start;
  const domain = EMAIL_DOMAIN.exec(text)?.[0] ?? '';
  // The character after the domain shows whether its last word ends there. A dot cannot begin a domain.
  return EMAIL_TOP_LEVEL.test(text.slice(start + 1, start + domain.length + 1));
}

function isWordAtIndex(text: string, index: number): boolean {
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

/** Whole words with their inflections and compounds: the same letters inside "class" or a name are not profanity. */
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

/** Whitespace and a number between the word of a label and its colon. It always matches, so no character is read twice. */
const NUMBER = /\s*\p{Nd}*\s*/uy;
const BLANKS = /\s*/y;

const NO_PREMISE =
  "Syllogism Breach: No 'Premise:' marker found. The output must contain at least one explicitly labeled premise (e.g. 'Premise 1:', 'Major Premise:', 'Minor Premise:').";

const NO_CONCLUSION = "Syllogism Breach: No 'Conclusion:' marker found. The output must explicitly label its logical conclusion.";

function tooMany(conclusions: number): string {
  return `Syllogism Breach: Found ${conclusions} 'Conclusion:' markers. A well-formed syllogism has exactly one conclusion.`;
}

/** Counts the places where a word is followed by the characters of `gap` and a colon. */
function countLabels(text: string, word: string, gap: RegExp): number {
  let count = 0;
  for (let found = text.indexOf(word); found !== -1; found = text.indexOf(word, found + word.length)) {
    gap.lastIndex = found + word.length;
    gap.test(text);
    if (text[gap.lastIndex] === ':' && isWordBoundary(text, found)) count += 1;
  }
  return count;
}

const HEDGING = [
  'i believe',
  'i think',
  'probably',
  'might be',
  'could be',
  'it seems like',
  'supposedly',
  "i'm not sure but",
  "i'm guessing",
];

/** The forms of a citation: [1], (Author, 2024), doi:10.1000/xyz, and an address. */
const CITATIONS = [
  /\[\p{Nd}+\]/u,
  /\(\p{Lu}\p{Ll}+,\s*\p{Nd}{4}\)/u,
  new RegExp(String.raw`${BEFORE_WORD}doi:\s*10\.\p{Nd}{4}`, 'iu'),
  new RegExp(String.raw`${BEFORE_WORD}https?://\S`, 'u'),
];

const NO_CITATION =
  'Citation Breach: HighConfidenceFact requires explicit inline citations. Accepted formats: [1], (Author, 2024), doi:10.xxxx/..., or verifiable https:// URLs.';

const GUESSING: readonly Marker[] = [
  ['best guess', 'best guesses'],
  "i'm guessing",
  'if i had to guess',
  "it's possible that",
  'maybe it is',
  'i might be wrong but',
  ['wild guess', 'wild guesses'],
  'could potentially',
  'let me speculate',
  'my assumption is',
  'i would guess that',
  "i'll take a stab at",
  'a rough estimate would be',
];

const IGNORANCE = [
  'i do not know',
  "i don't know",
  'i am unsure',
  "i'm unsure",
  'i lack',
  'cannot confirm',
  'insufficient data',
  'not enough information',
  "i don't have enough",
  'i cannot determine',
  'unknown to me',
  'i do not have sufficient',
  'beyond my knowledge',
  "i'm not able to confirm",
];

/** True for an answer that admits that the model does not know. */
function admitsIgnorance(text: string): boolean {
  return markersIn(text, IGNORANCE).length > 0;
}

function guessing(guesses: readonly string[]): string {
  return `Epistemic Breach: The model resorted to unwarranted speculation (${guesses.join(', ')}). When information is lacking, state explicitly 'I do not have sufficient data' rather than guessing.`;
}

/** Words that an anchor looks for, in lower case. If a marker has several forms, violations name the first. */
type Marker = string | readonly [name: string, ...otherForms: string[]];

/**
 * Returns the names of the markers that a text contains, in the order of the list. Case and the form of apostrophes do not matter. A
 * marker is never a part of a longer word: "could be" is not in "could become".
 */
function markersIn(text: string, markers: readonly Marker[]): string[] {
  const plain = text.toLowerCase().replaceAll('’', "'");
  return markers.flatMap((marker) => {
    const forms = typeof marker === 'string' ? [marker] : marker;
    return forms.some((form) => hasWords(plain, form)) ? forms.slice(0, 1) : [];
  });
}

/** Returns one violation that lists the markers in a text; an empty list if there are none. */
function listedMarkers(problem: string, text: string, markers: readonly Marker[]): string[] {
  const found = markersIn(text, markers);
  return found.length === 0 ? [] : [`${problem}: ${found.join(', ')}`];
}

/** True if a text contains these words as whole words. At an end that is not a letter or digit, such as a bracket, anything may follow. */
function hasWords(text: string, words: string): boolean {
  for (let start = text.indexOf(words); start !== -1; start = text.indexOf(words, start + 1)) {
    if (isWordBoundary(text, start) && isWordBoundary(text, start + words.length)) return true;
  }
  return false;
}

/** True unless a word continues at an index of a text. */
function isWordBoundary(text: string, index: number): boolean {
  return !(WORD.test(text.charAt(index - 1)) && WORD.test(text.charAt(index)));
}
