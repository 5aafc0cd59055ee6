// The shapes that cross from module to module, for readers and editors: nothing here runs, and nothing imports it to run.
// What a trace holds is written down in Python; these are the parts of it that are read here.

/**
 * A run: its settings, its steps and every token's text by id.
 * @typedef {object} Trace
 * @property {string} run_id
 * @property {?string} parent the run that this one branches from
 * @property {Settings} settings
 * @property {{text: string}} prompt
 * @property {Object<string, string>} tokens
 * @property {number[]} token_ids
 * @property {Step[]} steps
 * @property {'length' | 'end' | 'context' | 'stopped' | 'error'} stop
 * @property {?{target: ?Weights, draft: ?Weights}} weights
 * @property {?{target_ms: number[], draft_ms: number, rest_ms: number}} costs
 * @property {?{tokens: number, ms: number, token_ids: number[], timing?: {rounds: number}}} baseline the plain loop, where it was run
 * @property {?string} machine
 */

/**
 * @typedef {object} Settings
 * @property {string} pair
 * @property {{kind: 'model' | 'self' | 'lookup' | 'noise', name: string}} draft
 * @property {number} k
 * @property {number} temperature
 * @property {number} top_k
 * @property {number} top_p
 * @property {number} max_new_tokens
 * @property {number} seed
 * @property {boolean} chat
 * @property {?string} label
 * @property {?string} fault a deliberate mistake, by name
 * @property {number[]} end_ids
 * @property {number} top_m how many tokens of each row are on record; 0 in a CSV
 * @property {Override[]} overrides the numbers that were put in the place of others
 */

/** @typedef {[step: number, position: number, purpose: Purpose, u: number]} Override */

/** @typedef {'accept' | 'draft' | 'final'} Purpose what a random number decided: a coin, a draft's draw, the last draw */

/** @typedef {{step: number, position: number, purpose: Purpose}} Address where a random number was used */

/** @typedef {{name: string, sha256: ?string, dtype: string, device: string}} Weights */

/**
 * A step: what was drafted, and how it ended. `final` is missing where the end token was kept.
 * @typedef {object} Step
 * @property {number} step counted from 1
 * @property {number} k how many were drafted
 * @property {?('length' | 'context' | 'proposals')} k_reason why fewer than asked for
 * @property {Draft[]} drafts
 * @property {?Final} final
 * @property {?Final} [extra] a second last token, which only a deliberate mistake gives
 * @property {{draft: number, verify: number, rest: number, step: number}} ms
 * @property {Totals} totals of the run up to here
 */

/** @typedef {{tokens: number, target_passes: number}} Totals */

/**
 * @typedef {object} Draft
 * @property {number} id
 * @property {?number} p null for one that was not used, in a CSV
 * @property {number} q
 * @property {?number} coin null where none was tossed for it
 * @property {'accepted' | 'rejected' | 'discarded' | 'undecided'} state
 * @property {?number} mass still owed there
 * @property {?number} overlap
 * @property {number} u_draft the number that it was drawn with
 * @property {?number} low of [0, 1), the piece that is the token's
 * @property {?number} high
 * @property {?Row} row
 * @property {string} [by] whose coin it was, where it was not the run's own
 */

/**
 * @typedef {object} Final
 * @property {'residual' | 'bonus'} kind
 * @property {number} id
 * @property {number} p
 * @property {?number} q
 * @property {?number} mass
 * @property {number} u the dart
 * @property {number} low
 * @property {number} high
 * @property {boolean} fallback drawn from p itself, since nothing was owed
 * @property {?Row} [row]
 */

/**
 * Both laws at one position: the likeliest tokens, and of all others the sums.
 * @typedef {object} Row
 * @property {number[]} ids
 * @property {number[]} p
 * @property {number[]} q
 * @property {number} p_rest
 * @property {number} q_rest
 * @property {number} overlap_rest
 * @property {number[]} [p_raw] before temperature, top-k and top-p
 * @property {number[]} [q_raw]
 * @property {number[]} [low] where each token's piece of what is drawn from begins
 * @property {number[]} [q_low]
 * @property {boolean} [short] some tokens are kept back
 */

/**
 * A draft or a final token with its place: `position` counts from 1, `alone` marks a step that drafted nothing.
 * @typedef {object} Cell
 * @property {number} step
 * @property {number} position
 * @property {number} id
 * @property {string} state accepted, rejected, discarded, undecided, residual or bonus
 * @property {?number} p
 * @property {?number} q
 * @property {?number} [coin]
 * @property {?number} [ratio] p/q, where a coin fell
 * @property {number} [share] the probability that a final token was drawn with
 * @property {?number} [mass]
 * @property {boolean} [alone]
 * @property {boolean} [fallback]
 * @property {string} [by]
 * @property {string} [kind] of a final token only
 */

/** @typedef {{step: number, position: number, state: string}} Spot a cell by its place and its fate */

/** @typedef {'start' | 'draft' | 'verify' | 'threshold' | 'coin' | 'owed' | 'draw'} Kind of a beat */

/** @typedef {{step: number, kind: Kind, position: ?number, name: string}} Beat one thing that happens, named as links name it */

/** @typedef {'empty' | 'drafted' | 'verified' | 'threshold' | 'decided'} Stage how much of a draft is on view */

/**
 * What of a step is on view at one of its beats.
 * @typedef {object} View
 * @property {number} drafted how many drafts
 * @property {boolean} verified whether p is known
 * @property {?number} threshold whose ruler, without its coin
 * @property {number} decided how many coins have fallen
 * @property {boolean} owed what the target is still owed
 * @property {boolean} drawn the last token
 * @property {boolean} walked nothing is left to be looked at
 */

/**
 * A run's beats, and where each step begins and ends in them.
 * @typedef {object} Clock
 * @property {Beat[]} beats
 * @property {Object<number, Step>} steps
 * @property {Object<number, number>} starts
 * @property {Object<number, number>} ends
 * @property {Object<number, Counts>} before what the steps before it gave
 * @property {number[]} order
 */

/**
 * @typedef {object} Counts
 * @property {number} accepted
 * @property {number} rejected
 * @property {number} discarded
 * @property {number} residual
 * @property {number} bonus
 * @property {number} alone
 * @property {number} tokens
 * @property {number} passes
 */

/** @typedef {'slow' | 'normal' | 'step'} Speed */

/** @typedef {{cells: Cell[], texts: string[]}} Output what a run wrote, and each token's own part of the text */

/** @typedef {{p: number, q: number}} Weight */

/**
 * A token's mass, or that of all others (id null): what both laws give it, what is owed, what is drafted too often.
 * @typedef {object} Lane
 * @property {?number} id
 * @property {number} p
 * @property {number} q
 * @property {number} both
 * @property {number} owed
 * @property {number} over
 * @property {?Weight} raw
 */

/** @typedef {{id: ?number, low: number, high: number}} Piece of [0, 1), held by a token */

/** @typedef {{lane: number, kept: boolean}} Throw */

/** @typedef {{same: boolean, verdict: string, rest: string}} Outcome what another number would have decided */

/** @typedef {{at: number, cells: {id: number, state: string}[]}} RaceEvent tokens that were there after some milliseconds */

/** @typedef {'accept' | 'reject'} Call */

/** @typedef {{all: number, right: number, likelier: number, kept: number}} Score */

/** @typedef {{guess: number, chance: number}} Guess a chance as it was guessed, in per cent, and as it is */

/** @typedef {'verdict' | 'chance' | 'same'} Way what is asked: the verdict, its chance, or at temperature 0 the target's choice */

/** @typedef {{step: number, position: number, way: Way, key: string, open: boolean}} Question */

/** @typedef {Object<string, any>} Figures of a whole run, see metrics.py */

/** @typedef {{value: number, low: number, high: number, doubt: ?string}} Speedup doubt: why nothing may be concluded from it */

/** @typedef {{draft: number, verify: number, rest: number, plain: ?number, source: string}} StepTimes milliseconds */

/**
 * What the page is given to show: a whole run, or, `live`, the newest steps of one that is being made.
 * @typedef {object} Message
 * @property {boolean} live
 * @property {Trace} trace
 * @property {boolean} [made] computed here for this visitor, not opened or recorded
 * @property {Figures} [figures]
 * @property {string} [fingerprint]
 * @property {?{name: string, title: string, look_for: string, first: boolean}} [recorded]
 * @property {Object<string, any>} [asked] what the controls would hold for this run, by their names
 * @property {?string} [no_branch] why it can't be branched from anywhere, in a sentence
 * @property {{name: string, title: string, fingerprint: string}[]} [gallery]
 * @property {{ms: number[], stopped: boolean}} [race]
 */

/** @typedef {{original: Message, branch: Message}} Pair */

/** @typedef {'beat' | 'playing' | 'choice' | 'line' | 'predicting' | 'answer' | 'reminder' | 'size'} Change */

/**
 * What the inspector is about: a cell of a step, as far as the beat has got.
 * @typedef {object} Scene
 * @property {Trace} trace
 * @property {?Step} step
 * @property {Spot} [key]
 * @property {any} cell a Draft or a Final
 * @property {?Final} final
 * @property {string} act the kind of beat, or bonus, waiting, discarded
 * @property {?Row} row
 * @property {boolean} [greedy]
 */

/**
 * A number that can be moved, and what another one would decide.
 * @typedef {object} Handle
 * @property {Address} address
 * @property {number} was
 * @property {string} name
 * @property {(u: number) => {same: boolean, verdict: any, rest: string}} outcome
 * @property {(u: number) => string} text
 * @property {(u: number) => string} flag
 */
