"""What keys and tokens look like: one row for each shape that a vendor gives them.

A row holds facts that vendors publish (how a token begins, how long it is, of which letters), and
names where they stand. A shape that nothing announces, a long random text alone, has no row: hashes
and identifiers look like that too.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple


class SecretRule(NamedTuple):
    """signs: fixed texts, of which every match has one. pattern: a regular expression that begins
    behind no letter or digit. source: who describes the shape. is_word: a sign begins ordinary
    words too, so that a token of which a message shows only the beginning is not recognized.
    """

    name: str
    signs: tuple[str, ...]
    pattern: str
    source: str
    is_word: bool = False

    @property
    def wide_pattern(self) -> str:
        """The pattern, and what a message left of a token in front of dots."""
        if self.is_word:
            return self.pattern

        begins = "|".join(map(re.escape, self.signs))
        return rf"{self.pattern}|(?:{begins})[A-Za-z0-9_.-]{{8,60}}\.\.\."

    def is_suspected(self, text: str) -> bool:
        """Return whether the shape is anywhere, also behind a letter: in JSON that may belong to an
        escape.
        """
        return re.search(self.wide_pattern, text) is not None

    def find_all(self, text: str) -> "Iterator[re.Match[str]]":
        """Return the whole tokens in a text."""
        return re.finditer(f"{_ALONE}(?:{self.pattern})", text)

    def hide(self, text: str, instead: str) -> str:
        """Return the text with every token replaced, also one of which a message shows the
        beginning.
        """
        return re.sub(f"{_ALONE}(?:{self.wide_pattern})", instead, text)


_ALONE = "(?<![A-Za-z0-9])"

# "gitleaks: NAME" is a rule of https://github.com/gitleaks/gitleaks, which says where a vendor describes the shape
# fmt: off
RULES = (
    SecretRule("GitHub token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
               "gh[pousr]_[A-Za-z0-9]{16,}",
               "gitleaks: github-pat"),
    SecretRule("GitHub fine-grained token", ("github_pat_",),
               "github_pat_[A-Za-z0-9_]{16,}",
               "gitleaks: github-fine-grained-pat"),
    SecretRule("GitLab token", ("glpat-", "glptt-", "glrt-", "gldt-", "glsoat-", "glcbt-", "glagent-"),
               "gl(?:pat|ptt|rt|dt|soat|cbt|agent)-[A-Za-z0-9_-]{12,}",
               "gitleaks: gitlab-pat"),
    SecretRule("Docker Hub token", ("dckr_pat_", "dckr_oat_"),
               "dckr_[po]at_[A-Za-z0-9_-]{20,}",
               "https://docs.docker.com/security/access-tokens/"),
    SecretRule("Vault token", ("hvs.", "hvb.", "hvr."),
               r"hv[sbr]\.[A-Za-z0-9_-]{24,}",
               "gitleaks: vault-service-token"),
    SecretRule("Terraform token", (".atlasv1.",),
               r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}",
               "gitleaks: hashicorp-tf-api-token", is_word=True),
    SecretRule("Slack token", ("xox",),
               "xox[a-z]-[A-Za-z0-9-]{10,}",
               "gitleaks: slack-bot-token", is_word=True),
    SecretRule("Slack app token", ("xapp-",),
               "xapp-[A-Za-z0-9-]{10,}",
               "gitleaks: slack-app-token"),
    SecretRule("Slack webhook", ("hooks.slack.com",),
               r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,}",
               "gitleaks: slack-webhook-url", is_word=True),
    SecretRule("Discord webhook", ("/api/webhooks/",),
               r"discord(?:app)?\.com/api/webhooks/[0-9]{10,}/[A-Za-z0-9_-]{30,}",
               "https://discord.com/developers/docs/resources/webhook", is_word=True),
    SecretRule("Discord bot token", ("MD", "MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"),
               r"[MNO][DTjz][A-Za-z0-9_-]{22,26}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}",
               "https://discord.com/developers/docs/reference", is_word=True),
    SecretRule("Stripe key", ("sk_", "sk-", "rk_", "rk-"),
               "[sr]k[-_](?:live|test|proj|ant|or|svcacct|admin)[-_][A-Za-z0-9_-]{8,}",
               "gitleaks: stripe-access-token", is_word=True),
    SecretRule("OpenAI or Anthropic key", ("sk-",),
               "sk-[A-Za-z0-9_-]{20,}",
               "gitleaks: openai-api-key"),
    SecretRule("Stripe webhook secret", ("whsec_",),
               "whsec_[A-Za-z0-9+/=]{16,}",
               "https://docs.stripe.com/webhooks"),
    SecretRule("AWS access key", ("AKIA", "ASIA", "AGPA", "AIDA", "AROA", "ANPA"),
               "A(?:KIA|SIA|GPA|IDA|ROA|NPA)[A-Z0-9]{16}",
               "gitleaks: aws-access-token"),
    SecretRule("Azure shared access signature", ("sig=",),
               "sig=[A-Za-z0-9%/+]{40,}(?:%3[Dd]|=)",
               "https://learn.microsoft.com/azure/storage/common/storage-sas-overview", is_word=True),
    SecretRule("Google API key", ("AIza",),
               "AIza[A-Za-z0-9_-]{30,}",
               "gitleaks: gcp-api-key"),
    SecretRule("Google access token", ("ya29.",),
               r"ya29\.[A-Za-z0-9_-]{20,}",
               "https://cloud.google.com/docs/authentication/token-types"),
    SecretRule("Google client secret", ("GOCSPX-",),
               "GOCSPX-[A-Za-z0-9_-]{20,}",
               "https://developers.google.com/identity/protocols/oauth2"),
    SecretRule("Groq key", ("gsk_",),
               "gsk_[A-Za-z0-9]{30,}",
               "https://console.groq.com/docs/quickstart"),
    SecretRule("xAI key", ("xai-",),
               "xai-[A-Za-z0-9]{30,}",
               "https://docs.x.ai/docs/overview"),
    SecretRule("Perplexity key", ("pplx-",),
               "pplx-[A-Za-z0-9]{30,}",
               "gitleaks: perplexity-api-key"),
    SecretRule("Grafana token", ("glsa_",),
               "glsa_[A-Za-z0-9_]{30,}",
               "gitleaks: grafana-service-account-token"),
    SecretRule("Shopify token", ("shpat_", "shpss_", "shpca_", "shppa_"),
               "shp(?:at|ss|ca|pa)_[a-f0-9]{32}",
               "gitleaks: shopify-access-token"),
    SecretRule("Databricks token", ("dapi",),
               "dapi[a-f0-9]{32}",
               "gitleaks: databricks-api-token"),
    SecretRule("npm token", ("npm_",),
               "npm_[A-Za-z0-9]{30,}",
               "gitleaks: npm-access-token"),
    SecretRule("PyPI token", ("pypi-",),
               "pypi-[A-Za-z0-9_-]{30,}",
               "gitleaks: pypi-upload-token"),
    SecretRule("Hugging Face token", ("hf_",),
               "hf_[A-Za-z0-9]{20,}",
               "gitleaks: huggingface-access-token"),
    SecretRule("DigitalOcean token", ("dop_v1_",),
               "dop_v1_[a-f0-9]{32,}",
               "gitleaks: digitalocean-pat"),
    SecretRule("Linear key", ("lin_api_", "lin_oauth_"),
               "lin_(?:api|oauth)_[A-Za-z0-9]{20,}",
               "gitleaks: linear-api-key", is_word=True),
    SecretRule("Notion token", ("ntn_",),
               "ntn_[A-Za-z0-9]{20,}",
               "gitleaks: notion-api-token"),
    SecretRule("Notion token, older", ("secret_",),
               "secret_[A-Za-z0-9]{30,}",
               "https://developers.notion.com/docs/authorization", is_word=True),
    SecretRule("Atlassian token", ("ATATT",),
               "ATATT[A-Za-z0-9_=-]{20,}",
               "gitleaks: atlassian-api-token"),
    SecretRule("Telegram bot token", (":AA",),
               "[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}",
               "gitleaks: telegram-bot-api-token", is_word=True),
    SecretRule("Twilio key", ("SK",),
               "SK[a-f0-9]{32}",
               "gitleaks: twilio-api-key", is_word=True),
    SecretRule("SendGrid key", ("SG.",),
               r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
               "gitleaks: sendgrid-api-token"),
    SecretRule("Mailgun key", ("key-",),
               "key-[a-f0-9]{32}",
               "gitleaks: mailgun-private-api-token", is_word=True),
    SecretRule("age key", ("AGE-SECRET-KEY-1",),
               "AGE-SECRET-KEY-1[A-Z0-9]{20,}",
               "gitleaks: age-secret-key"),
    SecretRule("JSON web token", ("eyJ",),
               r"eyJ[A-Za-z0-9_-]{8,1000}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
               "gitleaks: jwt"),
    SecretRule("New Relic key", ("NRAK-", "NRII-", "NRJS-", "NRBR-"),
               "NR(?:AK|II|JS|BR)-[A-Za-z0-9_-]{19,}",
               "gitleaks: new-relic-user-api-key"),
    SecretRule("New Relic license key", ("NRAL",),
               "[a-f0-9]{36}(?:FFFF)?NRAL",
               "https://docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys/", is_word=True),
    SecretRule("Sentry token", ("sntrys_", "sntryu_"),
               "sntry[su]_[A-Za-z0-9+/=_-]{30,}",
               "gitleaks: sentry-user-token"),
    SecretRule("PlanetScale token", ("pscale_",),
               "pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}",
               "gitleaks: planetscale-api-token", is_word=True),
    SecretRule("Postman key", ("PMAK-",),
               "PMAK-[a-f0-9]{24}-[a-f0-9]{34}",
               "gitleaks: postman-api-token"),
    SecretRule("Figma token", ("figd_", "figo_", "figu_", "figr_"),
               "fig[dour]_[A-Za-z0-9_-]{30,}",
               "https://www.figma.com/developers/api#access-tokens"),
    SecretRule("Airtable token", ("pat",),
               r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}",
               "gitleaks: airtable-personnal-access-token", is_word=True),
    SecretRule("Supabase token", ("sbp_",),
               "sbp_[a-f0-9]{40}",
               "https://supabase.com/docs/reference/api/introduction"),
    SecretRule("Supabase secret key", ("sb_secret_",),
               "sb_secret_[A-Za-z0-9_-]{20,}",
               "https://supabase.com/docs/guides/api/api-keys"),
)
# fmt: on


def find_rules(text: str) -> Iterator[SecretRule]:
    """Yield the rules whose sign is in the text."""
    for rule in RULES:
        if any(sign in text for sign in rule.signs):
            yield rule
