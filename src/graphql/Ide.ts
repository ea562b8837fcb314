import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"

/**
 * The in-browser IDE: one page with everything in it. It loads nothing from elsewhere and its content security policy
 * lets it talk to this server only, so that a key typed into it goes nowhere else.
 */

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'unsafe-inline' 'unsafe-eval' blob:",
  "worker-src blob:",
  "style-src 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join("; ")

const headers = JSON.stringify({ Authorization: "Bearer <API_KEY>" }, undefined, 2)

const generateExample = `# Put your API key into the headers below, in place of <API_KEY>.
# Then re-fetch the schema (the arrows on the left) for completion and documentation.

mutation Generate {
  generate(input: { prompt: "Say hello.", options: { maxTokens: 100 } }) {
    text
    model {
      provider
      name
    }
    usage {
      totalTokens
    }
    creditsUsed
  }
}
`

const collectionExample = `mutation Index {
  index(
    input: {
      collection: "recipes"
      documents: [
        { id: "bread", title: "Bread", content: "Flour, water, salt and time." }
        { id: "soup", title: "Soup", content: "Leeks, potatoes and a little cream." }
      ]
    }
  ) {
    documentsIndexed
    chunksCreated
    creditsUsed
  }
}

query Search {
  search(query: "What do I need for bread?", collection: "recipes", topK: 3) {
    results {
      id
      score
      content
      metadata
    }
    creditsUsed
  }
}
`

const accountExample = `query Account {
  status {
    name
    version
    status
  }
  credits {
    balance
    held
    spent
  }
}
`

/** Nine megabytes of editor, read when somebody first asks for it. */
const render = Effect.gen(function* () {
  const { renderGraphiQL } = yield* Effect.promise(() => import("@graphql-yoga/render-graphiql"))
  return renderGraphiQL({
    title: "Sluice GraphQL",
    endpoint: "/graphql",
    defaultTabs: [generateExample, collectionExample, accountExample].map((query) => ({ query, headers })),
    headers,
    isHeadersEditorEnabled: true,
    shouldPersistHeaders: false,
    defaultEditorToolsVisibility: "headers"
  })
})

/** Makes the page once. */
export const ideResponse = Effect.cached(
  Effect.map(render, (page) =>
    HttpServerResponse.text(page, {
      contentType: "text/html; charset=utf-8",
      headers: { "content-security-policy": CONTENT_SECURITY_POLICY, "cache-control": "public, max-age=3600" }
    })
  )
)
