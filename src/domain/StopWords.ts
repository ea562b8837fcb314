/** English words that carry grammar rather than a topic: articles, pronouns, prepositions, conjunctions, auxiliaries. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  [
    "a an the this that these those such",
    "i me my mine myself we us our ours ourselves you your yours yourself yourselves",
    "he him his himself she her hers herself it its itself they them their theirs themselves",
    "who whom whose which what when where why how",
    "about above across after against along among around as at before behind below beneath beside between beyond by",
    "down during for from in inside into near of off on onto out outside over per since through throughout to toward",
    "towards under until up upon via with within without",
    "and but or nor so if then else than because while although though unless whereas whether both either neither",
    "am is are was were be been being do does did doing done have has had having can could may might must shall should",
    "will would ought",
    "ain aren couldn didn doesn don hadn hasn haven isn mustn shouldn wasn weren wouldn",
    "no not only also just very too there here again once"
  ].flatMap((line) => line.split(" "))
)
