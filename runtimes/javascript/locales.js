// How the languages that scripts ask for most write numbers, dates and times in figures. Words are English in all.

const { ampoule } = globalThis;

const NARROW = "\u202F", FIXED = "\xA0";

// `date` of a day in figures, `separator` between it and the time; `isTwelve`: hours from 1 to 12.
const LOCALES = {
  "en-US": { group: ",", decimal: ".", date: "M/D/Y", separator: ", ", isTwelve: true },
  "en-GB": { group: ",", decimal: ".", date: "DD/MM/Y", separator: ", ", dayFirst: true },
  "en-CA": { group: ",", decimal: ".", date: "Y-MM-DD", separator: ", ", isTwelve: true, halves: ["a.m.", "p.m."] },
  "en-AU": { group: ",", decimal: ".", date: "DD/MM/Y", separator: ", ", dayFirst: true, isTwelve: true, halves: ["am", "pm"] },
  "en-IN": { group: ",", decimal: ".", date: "D/M/Y", separator: ", ", dayFirst: true, isTwelve: true, halves: ["am", "pm"], byTwo: true },
  de: { group: ".", decimal: ",", date: "D.M.Y", separator: ", ", unitLast: true },
  fr: { group: NARROW, decimal: ",", date: "DD/MM/Y", separator: " ", unitLast: true },
  es: { group: ".", decimal: ",", date: "D/M/Y", separator: ", ", unitLast: true, fewGrouped: false, shortHour: true },
  it: { group: ".", decimal: ",", date: "DD/MM/Y", separator: ", ", unitLast: true },
  pt: { group: ".", decimal: ",", date: "DD/MM/Y", separator: ", ", symbolGap: FIXED },
  nl: { group: ".", decimal: ",", date: "D-M-Y", separator: ", ", symbolGap: FIXED },
  sv: { group: FIXED, decimal: ",", date: "Y-MM-DD", separator: " ", unitLast: true },
  pl: { group: FIXED, decimal: ",", date: "D.MM.Y", separator: ", ", unitLast: true, fewGrouped: false },
  ru: { group: FIXED, decimal: ",", date: "DD.MM.Y", separator: ", ", unitLast: true },
  ja: { group: ",", decimal: ".", date: "Y/M/D", separator: " ", shortHour: true },
  zh: { group: ",", decimal: ".", date: "Y/M/D", separator: " " },
};
for (const [name, locale] of Object.entries(LOCALES)) locale.name = name;

// The first of the wanted that is known, else the usual one.
function localeOf(wanted) {
  if (wanted === undefined) return LOCALES["en-US"];
  for (const name of Array.isArray(wanted) ? wanted : [wanted]) {
    const text = String(name);
    if (!/^[a-zA-Z]{2,3}(?:[-_][a-zA-Z0-9]{2,8})*$/.test(text)) {
      throw new RangeError(`Incorrect locale information provided`);
    }
    const found = LOCALES[text] ?? LOCALES[text.slice(0, 2)];
    if (found !== undefined) return found.name === text ? found : { ...found, name: text };
  }
  return LOCALES["en-US"];
}

// The digits before the point in groups.
function grouped(whole, locale) {
  if (locale.fewGrouped === false && whole.length < 5) return whole;
  return whole.replace(locale.byTwo ? /\B(?=(?:\d{2})*\d{3}$)/g : /\B(?=(\d{3})+$)/g, locale.group);
}

// A day in figures, in the language's order. `parts` have their figures already, if the script asked for them.
function inFigures({ year, month, day }, locale) {
  const { date } = locale;
  const order = date.match(/Y|M+|D+/g), between = /[^YMD]/.exec(date)[0];
  const figures = { Y: year, M: month, D: day };
  const shown = order.map((part) => {
    const figure = figures[part[0]];
    return figure && part.length === 2 ? figure.padStart(2, "0") : figure;
  });
  return shown.filter(Boolean).join(between);
}

Object.assign(ampoule, { localeOf, grouped, inFigures });
