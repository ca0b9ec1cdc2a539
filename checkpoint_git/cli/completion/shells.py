"""`checkpoint completion`: the scripts that make a shell complete our commands, by asking `checkpoint complete`."""

import argparse

from checkpoint_git.core.outcome import Answer, Invocation

SUMMARY = """\
print the script that makes a shell complete checkpoint, git checkpoint and checkpoint-doctor

It completes commands, options, skills, fields of a checkpoint, conflicts, commits and ids."""
EXAMPLES = """\
  eval "$(checkpoint completion bash)"                                   this shell; in ~/.bashrc: every shell
  checkpoint completion zsh > "${fpath[1]}/_checkpoint"                  zsh, once
  checkpoint completion fish > ~/.config/fish/completions/checkpoint.fish"""

BASH = r"""# bash completion for checkpoint, git checkpoint and checkpoint-doctor
_checkpoint() {
    local value text shell=
    COMPREPLY=()
    while IFS=$'\t' read -r value text; do
        case $value in
            :files | :folders) shell=$value ;;
            *) COMPREPLY+=("$value") ;;
        esac
    done < <(command checkpoint complete --breaks="$COMP_WORDBREAKS" --line="${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    case $shell in
        :files) compopt -o default 2>/dev/null ;;
        :folders) compopt -o dirnames 2>/dev/null ;;
    esac
    case ${#COMPREPLY[@]}:${COMPREPLY[0]} in
        1:*[=.\[]) compopt -o nospace 2>/dev/null ;;
    esac
}
_git_checkpoint() { _checkpoint; }
complete -F _checkpoint checkpoint git-checkpoint checkpoint-doctor
"""

ZSH = r"""#compdef checkpoint git-checkpoint checkpoint-doctor
# zsh completion for checkpoint, git checkpoint and checkpoint-doctor
_checkpoint() {
    local line value text shell
    local -a values texts open opentexts
    while IFS=$'\t' read -r value text; do
        case $value in
            :files | :folders) shell=$value ;;
            *[=.\[]) open+=("$value"); opentexts+=("${value}${text:+  -- $text}") ;;
            *) values+=("$value"); texts+=("${value}${text:+  -- $text}") ;;
        esac
    done < <(command checkpoint complete --line="${(j: :)${(@)words[1,CURRENT]}}" 2>/dev/null)
    (( $#values )) && compadd -l -d texts -a values
    (( $#open )) && compadd -l -S '' -d opentexts -a open
    case $shell in
        :files) _files ;;
        :folders) _files -/ ;;
    esac
}
_git-checkpoint() { _checkpoint }
if [[ $funcstack[1] == _checkpoint ]]; then
    _checkpoint "$@"
else
    compdef _checkpoint checkpoint git-checkpoint checkpoint-doctor
fi
"""

FISH = r"""# fish completion for checkpoint, git checkpoint and checkpoint-doctor
function __checkpoint_complete
    set -l line (commandline -cp)
    set -l typed (commandline -ct)
    for answer in (command checkpoint complete --line="$line" 2>/dev/null)
        switch $answer
            case ':files*'
                __fish_complete_path $typed
            case ':folders*'
                __fish_complete_directories $typed
            case '*'
                echo $answer
        end
    end
end
for program in checkpoint git-checkpoint checkpoint-doctor
    complete -c $program -f -a '(__checkpoint_complete)'
end
complete -c git -n '__fish_seen_subcommand_from checkpoint' -f -a '(__checkpoint_complete)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=sorted(SCRIPTS), help=", ".join(sorted(SCRIPTS)))


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """The verb: the script itself, whatever the format, for a shell to read."""
    return Answer([SCRIPTS[args.shell]], 0)
